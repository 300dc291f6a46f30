import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Logger, runMigrations } from 'graphile-worker';
import { OperatorError } from '../errors.ts';
import { noProgress, type OpenProgress } from '../open-progress.ts';
import type { Database } from './database.ts';
import type { ClientSession, Session } from './session.ts';

const FOLDER = fileURLToPath(new URL('migrations', import.meta.url));
export const MIGRATION_LOCK = 7_307_001;

interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** A last step of the migration, for tables that are made from definitions. It runs under the lock, in the transaction. */
export type Finish = (session: ClientSession, opening: OpenProgress) => Promise<void>;

/**
 * Runs missing migrations in the order of their names, once whatever the number of processes. They only add, so that the version before
 * continues. @throws OperatorError when the database has a migration that this version does not know
 */
export async function migrate(
  database: Database,
  finish: Finish = async () => {},
  opening: OpenProgress = noProgress,
): Promise<void> {
  await database.patiently(async (session) => {
    opening.step('waiting for another process that changes the tables');
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
      `The database has migration ${unknown.name} of a newer version; this version knows those up to ${known.at(-1)?.name}. Start the newer version, or restore a dump (pg_dump) made with this one.`,
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

/** Makes or renews the tables of graphile-worker, in a schema of its own. Called by one process at a time. */
async function migrateJobs(database: Database): Promise<void> {
  const pgPool = database.pool(2);
  try {
    await runMigrations({ pgPool, logger: new Logger(() => () => {}) });
  } finally {
    await pgPool.end();
  }
}
