import { Logger, runMigrations } from 'graphile-worker';
import type { Database } from '../database.ts';

/** Makes or renews the tables of graphile-worker, in a schema of its own. Called by one process at a time. */
export async function migrateJobs(database: Database): Promise<void> {
  const pgPool = database.pool(2);
  try {
    await runMigrations({ pgPool, logger: new Logger(() => () => {}) });
  } finally {
    await pgPool.end();
  }
}
