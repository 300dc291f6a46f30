import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../errors.ts';
import { noProgress, type OpenProgress } from '../open-progress.ts';
import type { Database } from './database.ts';
import { migrateJobs } from './jobs/migrate-jobs.ts';
import type { ClientSession, Session } from './session.ts';

const FOLDER = fileURLToPath(new URL('migrations', import.meta.url));
/** `pg_advisory_lock` of the one process that changes tables. */
export const MIGRATION_LOCK = 7_307_001;

interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** A last step of the migration, for tables that are made from definitions. It runs under the lock, in the transaction. */
export type Finish = (session: ClientSession, opening: OpenProgress) => Promise<void>;

/**
 * Runs the migrations that this database has not had, in the order of their names, each once whatever the number of processes that start
 * together, and again where statements of processes that serve were in the way. A migration only adds, so that processes of the version
 * before continue; what they no longer need is removed one version later.
 * @throws OperatorError when the database has a migration that this version does not know.
 */
export async function migrate(
  database: Database,
  finish: Finish = async () => {},
  opening: OpenProgress = noProgress,
): Promise<void> {
  await database.patiently(async (session) => {
    opening.step('waiting for another process that changes the tables');
    // Ends with the connection.
    await session.query({ text: `select pg_advisory_lock(${MIGRATION_LOCK})` });
    opening.step('bringing the tables up to date');
    await session.query({ text: 'begin' });
    await runMissing(session);
    await finish(session, opening);
    await session.query({ text: 'commit' });
    await migrateJobs(database);
  }, opening.signal);
}

async function runMissing(session: Session): Promise<void> {
  await session.query({
    text: `create table if not exists schema_migrations (name text collate "C" primary key, applied_at timestamptz not null default now())`,
  });
  const applied = await session.query<{ name: string }>({ text: 'select name from schema_migrations order by name' });
  const known = migrations();
  const names = new Set(known.map(({ name }) => name));
  const unknown = applied.find(({ name }) => !names.has(name));
  if (unknown) {
    throw new OperatorError(
      `The database was changed by a newer version (migration ${unknown.name}). Start that version or a later one.`,
    );
  }
  const done = new Set(applied.map(({ name }) => name));
  for (const { name, sql } of known) {
    if (done.has(name)) continue;
    await session.query({ text: sql });
    await session.query({ text: 'insert into schema_migrations (name) values ($1)', values: [name] });
  }
}

function migrations(): readonly Migration[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => ({ name: file.slice(0, -4), sql: readFileSync(join(FOLDER, file), 'utf8') }));
}
