import { readFileSync } from 'node:fs';

/** A fault that a test must find: a text of a file, what is written in its place, and the test that fails then. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** A part of the path of the test, as `npm test` takes it. */
  readonly test: string;
  /** Where the test finds it on PostgreSQL alone. */
  readonly store?: 'postgres';
}

export const mutations = JSON.parse(
  readFileSync(new URL('../mutations.json', import.meta.url), 'utf8'),
) as readonly Mutation[]; // the contract test checks its form

/** The text of the file with the fault in it. @throws where the place to plant it is not there exactly once */
export function mutated(text: string, { name, file, find, replace }: Mutation): string {
  const count = text.split(find).length - 1;
  if (count !== 1) throw new Error(`${name}: its place is ${count} times in ${file}; it must be there once.`);
  return text.replace(find, () => replace);
}
