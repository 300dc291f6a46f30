import { setTimeout as delay } from 'node:timers/promises';
import { StoreBusy, StoreUnavailable } from '../../errors.ts';
import { Mutex } from '../../mutex.ts';
import type { Database } from '../database.ts';
import type { ClientSession } from '../session.ts';

/** `pg_advisory_lock` of the process whose import is under way. */
export const IMPORT_LOCK = 7_307_010;
/** How long an import waits for others. */
const PATIENCE_MS = 25_000;
/** A process that hangs with the turn loses it. */
const MOST_IDLE = '60s';

/** The turn to import: of all processes on the database, one at a time has it. */
export interface ImportLock {
  readonly session: ClientSession;
  end(): Promise<void>;
}

/** Lets imports run one at a time. Those of this process wait in the order in which they came. */
export class ImportLocks {
  readonly #database: Database;
  readonly #turns = new Mutex();

  constructor(database: Database) {
    this.#database = database;
  }

  /** @throws StoreBusy when others take too long */
  async take(): Promise<ImportLock> {
    const until = Date.now() + PATIENCE_MS;
    const endTurn = await this.#own();
    try {
      const turn = await this.#lock(Math.max(1, until - Date.now()));
      return { session: turn.session, end: () => turn.end().finally(endTurn) };
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  async #own(): Promise<() => void> {
    const taken = this.#turns.take();
    const waited = new AbortController();
    const first = await Promise.race([taken, delay(PATIENCE_MS, undefined, { ref: false, signal: waited.signal })]);
    waited.abort();
    if (first) return first;
    void taken.then((end) => end());
    throw busy();
  }

  /** The connection is held until the turn ends, outside of the pool's `use` of others. */
  #lock(patienceMs: number): Promise<ImportLock> {
    return new Promise((resolve, reject) => {
      const held = this.#database.use(async (session) => {
        await lockImports(session, patienceMs);
        await new Promise<void>((release) => {
          const end = () => {
            release();
            return held;
          };
          resolve({ session, end });
        });
        await unlockImports(session);
      });
      held.catch(reject);
    });
  }
}

async function lockImports(session: ClientSession, patienceMs: number): Promise<void> {
  try {
    const text = `begin; set local lock_timeout = ${patienceMs}; set local statement_timeout = 0; select pg_advisory_lock(${IMPORT_LOCK}); commit`;
    await session.query({ text });
  } catch (error) {
    await session.query({ text: 'rollback' }).catch(() => {});
    throw isLockTimeout(error) ? busy() : error;
  }
  await session.query({ text: `set idle_session_timeout = '${MOST_IDLE}'` });
}

/** A connection that is lost has no lock any more. */
async function unlockImports(session: ClientSession): Promise<void> {
  const text = `select pg_advisory_unlock(${IMPORT_LOCK}); reset idle_session_timeout`;
  await session.query({ text }).catch((error) => {
    if (!(error instanceof StoreUnavailable)) throw error;
  });
}

const busy = () => new StoreBusy('Other rows are being imported, which takes long; send these again in a minute.');

export function isLockTimeout(error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : error;
  return cause instanceof Error && 'code' in cause && cause.code === '55P03';
}
