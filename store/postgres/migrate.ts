import { Logger, runMigrations } from 'graphile-worker';
import { noProgress, type OpenProgress } from '../open-progress.ts';
import type { Database } from './database.ts';
import type { ClientSession, Session } from './session.ts';
import { AFTER_MIGRATION, tablesState } from './tables-state.ts';

export const MIGRATION_LOCK = 7_307_001;

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
    await runMissing(session, opening);
    await finish(session, opening);
    await session.query({ text: 'commit' });
    await migrateJobs(database);
  }, opening.signal);
}

async function runMissing(session: Session, opening: OpenProgress): Promise<void> {
  await session.query({
    text: `create table if not exists schema_migrations (name text collate "C" primary key, applied_at timestamptz not null default now())`,
  });
  const applied = await session.query<{ name: string }>({ text: 'select name from schema_migrations' });
  const { from, to, missing } = tablesState(applied.map(({ name }) => name));
  if (from !== undefined && missing.length > 0)
    opening.notice(`The tables of the database are brought from ${from} to ${to}. ${AFTER_MIGRATION}.`);
  for (const { name, sql } of missing) {
    await session.query({ text: sql });
    await session.query({ text: 'insert into schema_migrations (name) values ($1)', values: [name] });
  }
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
