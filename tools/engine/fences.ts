/**
 * How text that is not the operator's own (memories, skills, results of tools) stands in a prompt: between marks that say what it is
 * and that it cannot write itself, so that a model can tell it from its instructions.
 */
export interface Fenced {
  /** One word. */
  readonly kind: string;
  readonly id: string;
  /** What people call it. */
  readonly title?: string | undefined;
  readonly text: string;
}

export function fence({ kind, id, title, text }: Fenced): string {
  const named = title === undefined ? '' : ` title="${inLine(title)}"`;
  return `<data kind="${kind}" id="${inLine(id)}"${named}>\n${withoutMarks(text)}\n</data>`;
}

const FENCED = /<data kind="(\w+)" id="([^"\n]*)"(?: title="([^"\n]*)")?>\n([\s\S]*?)\n<\/data>/g;

export function readFences(prompt: string): Fenced[] {
  return Array.from(prompt.matchAll(FENCED), ([, kind = '', id = '', title, text = '']) => ({ kind, id, title, text }));
}

/** Nothing in the text opens or closes a fence. */
function withoutMarks(text: string): string {
  return text.replace(/<(?=\s*\/?\s*data\b)/gi, '‹');
}

function inLine(text: string): string {
  return withoutMarks(text).replace(/["\s]+/g, ' ');
}
