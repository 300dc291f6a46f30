/**
 * How text that was put into a prompt (memories, results of tools, skills) stands there: between marks that say what it is and that it
 * cannot write itself, so that a model can tell it from its instructions. Skills are instructions and marked as such.
 */
export interface Fenced {
  /** One word; `skill` is an instruction, all others are data. */
  readonly kind: string;
  readonly id: string;
  /** What people call it. */
  readonly title?: string | undefined;
  readonly text: string;
}

export function fence({ kind, id, title, text }: Fenced): string {
  const named = title === undefined ? '' : ` title="${inLine(title)}"`;
  const mark = kind === 'skill' ? 'skill' : 'data';
  return `<${mark} kind="${kind}" id="${inLine(id)}"${named}>\n${withoutMarks(text)}\n</${mark}>`;
}

const FENCED = /<(data|skill) kind="(\w+)" id="([^"\n]*)"(?: title="([^"\n]*)")?>\n([\s\S]*?)\n<\/\1>/g;

export function readFences(prompt: string): Fenced[] {
  return Array.from(prompt.matchAll(FENCED), ([, , kind = '', id = '', title, text = '']) => ({
    kind,
    id,
    title,
    text,
  }));
}

/** Nothing in the text opens or closes a fence. */
function withoutMarks(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:data|skill)\b)/gi, '‹');
}

function inLine(text: string): string {
  return withoutMarks(text).replace(/["\s]+/g, ' ');
}
