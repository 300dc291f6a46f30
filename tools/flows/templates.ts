import { Liquid } from 'liquidjs';

const MOST_CHARACTERS = 200_000;

/** Renders the arguments of steps: no files, no members but own ones, bounds on memory; records within a text are JSON. */
export const templates = new Liquid({
  ownPropertyOnly: true,
  strictFilters: true,
  parseLimit: MOST_CHARACTERS,
  memoryLimit: 2_000_000,
  outputEscape: (value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value) as string, // what it returns is made a text like any other value
});
for (const tag of ['include', 'render', 'layout', 'block']) delete templates.tags[tag];

/** A path into what a template or condition sees; undefined stands for a part that is known at run time only. */
export type Reference = readonly (string | undefined)[];

export interface Parsed {
  readonly references: readonly Reference[];
  /** What is wrong with the text, where it cannot be parsed. */
  readonly problem?: string;
}

/** What a template refers to outside itself. */
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

/** Finding the place of each output and tag takes time by the length of the text. */
const MOST_WORK = 10_000_000;

/** Whether the templates in these texts together take too long to be looked through. */
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
