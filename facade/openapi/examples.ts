import { readdirSync, readFileSync } from 'node:fs';
import { analyticsTools } from '../../tools/analytics/tools.ts';

/** What one call of an operation takes (path, query and body together, as its tool does) and gives. */
export interface Example {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly answer?: Readonly<Record<string, unknown>>;
  /** The same answer as a stream: name and data of each event. */
  readonly events?: readonly (readonly [name: string, data: object])[];
}

/** By name of the tool. */
export type Examples = Readonly<Record<string, Example>>;

const FOLDER = new URL('../../data/examples/', import.meta.url);

/** Every operation has an answer, and an input where it needs one. For `$definition` the words of the metric are filled in. */
export function readExamples(): Examples {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  const files = names.map((name): Examples => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')));
  const examples: Examples = Object.assign({}, ...files);
  for (const { name, definition } of analyticsTools) Object.assign(examples[name]?.answer ?? {}, { definition });
  return examples;
}
