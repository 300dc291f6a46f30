/** Text in a prompt, between marks that it cannot contain itself, so that a model can tell it from its instructions. Skills are instructions. */
export interface Fenced {
  /** One word. `skill` is an instruction; every other kind is data. */
  readonly kind: string;
  readonly id: string;
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

const CONTEXT = '\n\nContext of this turn:\n\n';

/** A message with what belongs to its turn alone. The text comes first, as the next turn sends it again without the context. */
export function withContext(text: string, context: string): string {
  return `${text}${CONTEXT}${context}`;
}

export function splitContext(message: string): { readonly text: string; readonly context: string } {
  const at = message.lastIndexOf(CONTEXT);
  if (at === -1) return { text: message, context: '' };
  return { text: message.slice(0, at), context: message.slice(at + CONTEXT.length) };
}

function withoutMarks(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:data|skill)\b)/gi, '‹');
}

function inLine(text: string): string {
  return withoutMarks(text).replace(/["\s]+/g, ' ');
}
