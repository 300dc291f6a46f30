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

export function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('{%');
}
