import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../errors.ts';

const FOLDER = fileURLToPath(new URL('migrations', import.meta.url));

interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** How the tables of a database stand to this version. */
interface TablesState {
  /** The newest migration that they have; undefined where there are no tables yet. */
  readonly from: string | undefined;
  /** The newest migration of this version. */
  readonly to: string;
  /** What they lack, in the order in which it is run. */
  readonly missing: readonly Migration[];
}

/** Compares the migrations of a database, by their names, with those of this version. @throws OperatorError if a newer version added one */
export function tablesState(applied: readonly string[]): TablesState {
  const known = migrations();
  const to = known.at(-1)?.name ?? '';
  const names = new Set(known.map(({ name }) => name));
  const has = [...applied].sort();
  const unknown = has.find((name) => !names.has(name));
  if (unknown !== undefined) {
    throw new OperatorError(
      `The database has migration ${unknown} of a newer version; this version knows those up to ${to}. Start the newer version, or restore a dump (pg_dump) made with this one.`,
    );
  }
  return { from: has.at(-1), to, missing: known.filter(({ name }) => !has.includes(name)) };
}

/** What an operator needs to know before tables that are in use are changed. */
export const AFTER_MIGRATION =
  'Processes of the version before serve on, but cannot start again: going back needs a dump (pg_dump) made before';

function migrations(): readonly Migration[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => ({ name: file.slice(0, -4), sql: readFileSync(join(FOLDER, file), 'utf8') }));
}
