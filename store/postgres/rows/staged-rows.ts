import { setTimeout as delay } from 'node:timers/promises';
import { StoreBusy, StoreUnavailable } from '../../errors.ts';
import { Mutex } from '../../mutex.ts';
import type { StagedRows } from '../../rows-port.ts';
import type { Counts } from '../../sql/writing/batch.ts';
import type { Database } from '../database.ts';
import { isLockLate } from '../failures.ts';
import type { ClientSession } from '../session.ts';
import type { RowConnection } from './connection.ts';
import type { LockedState } from './state.ts';

const IMPORT_LOCK = 7_307_010;
const PATIENCE_MS = 25_000;
/** A process that hangs with the turn loses it. */
const MOST_IDLE = '60s';

/** The turn to import: of all processes on the database, one at a time has it. */
interface ImportLock {
  readonly session: ClientSession;
  end(): Promise<void>;
}

export class ImportLocks {
  readonly #database: Database;
  readonly #turns = new Mutex();

  constructor(database: Database) {
    this.#database = database;
  }

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
    throw isLockLate(error instanceof StoreUnavailable ? error.cause : error) ? busy() : error;
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

export type Writing = (writer: RowConnection, state: LockedState) => Promise<Counts>;

interface Staging {
  readonly turn: ImportLock;
  readonly counts: Counts;
  /** The version of the rows that they were compared with. */
  readonly version: number;
  readonly write: Writing;
}

/** Rows that were compared with those that are there, and are written in the transaction that commits them. Nobody else imports until then. */
export interface StagedWrite extends StagedRows {
  /** Returns whether it changed anything. @throws StoreBusy if the rows have changed since they were compared */
  write(writer: RowConnection, state: LockedState): Promise<boolean>;
}

export function stagedWrite({ turn, counts, version, write }: Staging): StagedWrite {
  return {
    ...counts,
    async write(writer, state) {
      if (counts.created + counts.updated === 0 && version === state.version) return false;
      const { created, updated } = await write(writer, state);
      if (created !== counts.created || updated !== counts.updated) {
        throw new StoreBusy('The rows were changed by somebody else meanwhile; send them again.');
      }
      return created + updated > 0;
    },
    discard: () => turn.end(),
  };
}
