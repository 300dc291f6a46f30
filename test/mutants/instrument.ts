import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeModule } from '../support/judges.ts';

/** A small change that the copy of the project can make to itself, switched on by its id. */
export interface Mutant {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  /** Which kind of change it is, and what is written instead. */
  readonly kind: string;
  readonly was: string;
  readonly becomes: string;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/** What is used of the instrumenter of Stryker. */
interface Stryker {
  Instrumenter: new (
    logger: object,
  ) => {
    instrument(
      files: readonly { readonly name: string; readonly mutate: boolean; readonly content: string }[],
      options: object,
    ): Promise<{
      readonly files: readonly { readonly name: string; readonly content: string }[];
      readonly mutants: readonly {
        readonly id: string;
        /** `Ignored`: it was not planted. */
        readonly status?: string;
        readonly fileName: string;
        readonly mutatorName: string;
        readonly replacement: string;
        readonly location: { readonly start: Place; readonly end: Place };
      }[];
    }>;
  };
}

/** Texts for people and the formats of published schemas are snapshots elsewhere; what stands in them is no rule. */
const EXCLUDED = ['StringLiteral', 'ObjectLiteral'];
const OPTIONS = { plugins: null, excludedMutations: EXCLUDED, ignorers: [], mutator: {}, noHeader: false };

/** Plants all mutants of the files in the copy, each switched off. */
export async function plant(folder: string, sources: readonly string[]): Promise<Mutant[]> {
  const { Instrumenter } = (await import(judgeModule('@stryker-mutator/instrumenter'))) as Stryker; // as its types say
  const quiet = new Proxy({}, { get: () => () => false });
  const files = sources.flatMap((source) => filesIn(join(folder, source)));
  const texts = new Map(files.map((name) => [name, readFileSync(name, 'utf8')]));
  const given = files.map((name) => ({ name, mutate: true, content: texts.get(name) ?? '' }));
  const { files: made, mutants } = await new Instrumenter(quiet).instrument(given, OPTIONS);
  for (const { name, content } of made) writeFileSync(name, content);
  const planted = mutants.filter(
    ({ status, fileName, replacement, location: { start } }) =>
      status !== 'Ignored' && !(NO_CODE.test(replacement) && isErrors(texts.get(fileName), start.line)),
  );
  return planted.map(({ id, fileName, mutatorName, replacement, location: { start, end } }) => ({
    ...{ id, file: fileName.slice(folder.length + 1), line: start.line + 1, kind: mutatorName },
    was: between(texts.get(fileName) ?? '', start, end),
    becomes: oneLine(replacement),
  }));
}

/** The compiler knows the codes of errors that a tool may declare. */
const NO_CODE = /^\["Stryker was here"\]$/;

function isErrors(text: string | undefined, line: number): boolean {
  return /^ *errors: \[\],$/.test(text?.split('\n')[line] ?? '');
}

function filesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /(?<!\.d)\.ts$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

function between(text: string, start: Place, end: Place): string {
  const lines = text.split('\n').slice(start.line, end.line + 1);
  const last = lines.length - 1;
  if (lines[last] !== undefined) lines[last] = lines[last].slice(0, end.column);
  if (lines[0] !== undefined) lines[0] = lines[0].slice(start.column);
  return oneLine(lines.join(' '));
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 80 ? `${line.slice(0, 60)} … ${line.slice(-15)}` : line;
}
