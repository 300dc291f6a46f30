import { escapeHtml } from '../../tools/core/escape-html.ts';

export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Html[] | undefined | false;

/** A piece of a page. Texts are escaped, pieces of HTML are inserted unchanged, undefined and false are left out. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + show(parts[index - 1]) + string));
}

function show(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return part === undefined || part === false ? '' : escapeHtml(String(part));
}
