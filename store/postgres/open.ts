import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../backoff.ts';
import { OperatorError, StoreUnavailable } from '../errors.ts';
import { noProgress, type OpenProgress } from '../open-progress.ts';
import type { Store } from '../port.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { asOpeningError } from './failures.ts';
import { type Finish, migrate } from './migrate.ts';
import { fillColumns, makeTables } from './records/make-tables.ts';
import { PostgresRowStore } from './rows/row-store.ts';
import { prepareRows } from './rows/state.ts';
import { createShared, PostgresStore, type Shared } from './store.ts';
import { prepareFiles } from './stored-files.ts';

export interface PostgresOptions extends DatabaseOptions {
  readonly now?: (() => Date) | undefined;
  readonly clock?: (() => number) | undefined;
  readonly opening?: OpenProgress | undefined;
  /** How long a database that cannot be reached is waited for. Default: 0. */
  readonly waitMs?: number | undefined;
  /** The secret behind the proof of the audit log, the same in all processes. Without it, entries have none. */
  readonly auditSecret?: string | undefined;
}

/** Brings the tables to the state of this version. @throws OperatorError, StoreUnavailable */
export async function openPostgresStore({
  now = () => new Date(),
  clock,
  opening = noProgress,
  waitMs = 0,
  auditSecret,
  ...options
}: PostgresOptions): Promise<Store> {
  const database = new Database(options);
  try {
    opening.step('waiting for the database');
    await waitFor(database, waitMs, opening);
    await checkPooler(database);
    await migrate(database, prepare, opening);
    opening.step('beginning to hear of other processes');
    const shared: Shared = createShared({ database, readers: () => store, clock, now });
    // It has a reader for each collection, whose records were checked by its schema when they were written.
    const store = new PostgresStore({
      database,
      rows: new PostgresRowStore(database),
      shared,
      auditSecret,
      now,
    }) as Store & PostgresStore;
    await store.start();
    return store;
  } catch (error) {
    await database.close();
    throw asOpeningError(error);
  }
}

const prepare: Finish = async (session, opening) => {
  await makeTables(session);
  await fillColumns(session);
  await prepareRows(session, opening);
  await prepareFiles(session);
};

const PAUSE = { firstMs: 200, longestMs: 2000 };

/** It may start beside this process. What an operator has to mend is not waited for. @throws OperatorError, StoreUnavailable */
async function waitFor(database: Database, waitMs: number, opening: OpenProgress): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (let failures = 0; ; failures += 1) {
    try {
      return await checkServer(database);
    } catch (error) {
      const leftMs = deadline - performance.now();
      if (!(error instanceof StoreUnavailable) || leftMs <= 0) throw error;
      if (failures === 0)
        opening.notice(
          `${error.message}. It is waited for, ${Math.ceil(leftMs / 1000)} s at most (DATABASE_WAIT_SECONDS).`,
        );
      await sleep(Math.min(leftMs, backoffMs(failures, PAUSE)), undefined, { signal: opening.signal });
    }
  }
}

const OLDEST = 15;

async function checkServer(database: Database): Promise<void> {
  const text = `select current_setting('server_version_num')::integer / 10000 as version, current_setting('server_encoding') as encoding`;
  const [server] = await database.query<{ version: number; encoding: string }>({ text });
  if (!server || server.version < OLDEST)
    throw new OperatorError(`The database is PostgreSQL ${server?.version}; use version ${OLDEST} or newer.`);
  if (server.encoding !== 'UTF8')
    throw new OperatorError(`The database has the encoding ${server.encoding}; make one with the encoding UTF8.`);
}

/** A pooler that works by transaction gives two clients one session, and with it the locks of each other. */
async function checkPooler(database: Database): Promise<void> {
  const text = 'select pg_backend_pid() as pid';
  const isShared = await database.use(async (one) => {
    const [first] = await one.query<{ pid: number }>({ text });
    const [second] = await database.query<{ pid: number }>({ text });
    return first?.pid === second?.pid;
  });
  if (isShared)
    throw new OperatorError(
      'The pooler before the database works by transaction, and locks and notifications need a session: set it to work by session (PgBouncer: pool_mode=session), or set DATABASE_URL to the address of PostgreSQL itself.',
    );
}
