import { Liquid } from 'liquidjs';

const MOST_CHARACTERS = 200_000;

/** Renders the arguments of steps. There are no files and only own members, and memory is bounded. Records inside a text become JSON. */
export const templates = new Liquid({
  ownPropertyOnly: true,
  strictFilters: true,
  parseLimit: MOST_CHARACTERS,
  memoryLimit: 2_000_000,
  outputEscape: (value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value) as string, // the result becomes text like any other value
});
for (const tag of ['include', 'render', 'layout', 'block']) delete templates.tags[tag];

/** A path to a value that a template or condition reads. Undefined stands for a part that is known only when the flow runs. */
export type Reference = readonly (string | undefined)[];

export interface Parsed {
  readonly references: readonly Reference[];
  /** What is wrong with the text, where it cannot be parsed. */
  readonly problem?: string;
}

/** The values outside itself that a template refers to. */
export function parseTemplate(text: string): Parsed {
  if (!isTemplate(text)) return { references: [] };
  try {
    const { globals } = templates.analyzeSync(templates.parse(text), { partials: false });
    const references = Object.values(globals)
      .flat()
      .map(({ segments }) => segments.map((part) => (typeof part === 'object' ? undefined : String(part))));
    return { references };
  } catch (thrown) {
    return { references: [], problem: thrown instanceof Error ? thrown.message : 'It cannot be parsed' };
  }
}

/** The time for finding the place of each output and tag grows with the length of the text. */
const MOST_WORK = 10_000_000;

/** Whether checking all these templates would take too long. */
export function areTooMuch(texts: readonly string[]): boolean {
  return texts.reduce((work, text) => work + text.length * countOf(text), 0) > MOST_WORK;
}

function countOf(text: string): number {
  let count = 0;
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) {
    if (text[at + 1] === '{' || text[at + 1] === '%') count += 1;
  }
  return count;
}

export function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('{%');
}
