import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitAdditions } from '../commit-additions.ts';
import { StoreUnavailable, StoreUncertain } from '../errors.ts';
import type { RecordChange, Transaction } from '../port.ts';
import { withRetries } from './attempts.ts';
import type { Erasures } from './audit/erasures.ts';
import type { PostgresAudit } from './audit/log.ts';
import type { CommitHook } from './commit-hook.ts';
import type { Database } from './database.ts';
import { isConnectionLost, StoreReadOnly } from './failures.ts';
import type { PostgresRows } from './rows-hook.ts';
import type { ClientSession, Session } from './session.ts';
import type { Vocabulary } from './text/vocabulary.ts';
import { OpenTransaction } from './transaction.ts';

interface TransactionsParts {
  readonly database: Database;
  readonly audit: PostgresAudit;
  readonly erasures: Erasures;
  readonly rows: PostgresRows;
  readonly hook: CommitHook;
  readonly vocabulary: Vocabulary;
  readonly additions: CommitAdditions;
  readonly now: () => Date;
}

interface Completed {
  readonly changes: readonly RecordChange[];
  /** The process knows the words of the records from now on. */
  enterWords(): void;
}

/** Attempts beside others. The ones after that run while no other transaction does. */
const ATTEMPTS_BESIDE_OTHERS = 3;
/** How long to ask for the outcome of a commit whose connection was lost. */
const OUTCOME_MS = 5000;

/**
 * Of a table that is read without an index, PostgreSQL notes that all of it was read, so that every change of it is in the way. Where it is
 * small, it would be read so.
 */
const BEGIN = 'begin isolation level serializable; set local enable_seqscan = off';

/**
 * Runs transactions as if each were the only one: serializable, and again where another one changed what it had read. PostgreSQL finds that
 * out by itself, whatever the work reads: a record, a count, or that something is not there.
 */
export class Transactions {
  readonly #parts: TransactionsParts;
  readonly #running = new Set<Promise<unknown>>();

  constructor(parts: TransactionsParts) {
    this.#parts = parts;
  }

  /** @throws StoreUnavailable */
  async run<Result>(work: (tx: Transaction) => Promise<Result>, origin?: object): Promise<Result> {
    const running = withRetries((attempt) => this.#once(work, origin, attempt));
    const settled = running.catch(() => {}).finally(() => this.#running.delete(settled));
    this.#running.add(settled);
    return running;
  }

  /** Resolves when no transaction runs. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #once<Result>(work: (tx: Transaction) => Promise<Result>, origin: object | undefined, attempt: number) {
    const { database, now, hook, erasures, audit, additions } = this.#parts;
    if (database.isReadOnly) throw new StoreReadOnly();
    let hasErased = false;
    // The lock comes before the view of the data, which begins with the first question.
    const lock = `lock table write_gate in ${attempt > ATTEMPTS_BESIDE_OTHERS ? 'exclusive' : 'row share'} mode`;
    const result = await database.useBegun({ begin: BEGIN, lock }, async (session) => {
      // If another record conflicted with one of the batch, the next attempt says which.
      const open = new OpenTransaction(session, now, { writesLate: attempt === 1 });
      let result: Result;
      let completed: Completed;
      try {
        result = await open.run(additions.after(work, () => open.changes()));
        completed = await this.#complete(open, session);
      } catch (error) {
        await session.query({ text: 'rollback' }).catch(() => {});
        throw error;
      }
      await this.#commit(session, open.xid);
      completed.enterWords();
      await this.#after(open);
      hook.committed(completed.changes, origin);
      hasErased = open.erased.length > 0;
      return result;
    });
    // Entries that this process had not written yet. What fails here is done by the sweep.
    if (hasErased)
      await audit
        .flush()
        .then(() => erasures.clear())
        .catch(() => {});
    return result;
  }

  /** What goes along with the changes of the work. */
  async #complete(open: OpenTransaction, session: ClientSession): Promise<Completed> {
    const { audit, erasures, rows, hook, vocabulary } = this.#parts;
    const { batch: staged, erasedUsers: erased } = open;
    if (staged || erased.length > 0) open.rowsCommitted = await rows.write(session, { staged, erased });
    await erasures.erase(
      session,
      open.erased,
      open.audit.map(({ id }) => id),
    );
    const { additions, enter } = vocabulary.toAdd(open.words);
    const changes = open.changes();
    const others = [...open.additions, ...additions, ...(changes.length > 0 ? [hook.note(changes)] : [])];
    open.xid = (await audit.appendIn(session, open.audit, { justErased: open.erased, others })) ?? open.xid;
    return { changes, enterWords: enter };
  }

  /** Where the answer to COMMIT got lost, the database is asked whether it was done. */
  async #commit(session: Session, xid: string | undefined): Promise<void> {
    try {
      await session.query({ text: 'commit' });
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || !isConnectionLost(error.cause)) throw error;
      if (xid === undefined) throw new StoreUncertain(error.message, { cause: error.cause });
      if (!(await this.#isCommitted(xid, error))) throw error;
    }
  }

  async #isCommitted(xid: string, lost: StoreUnavailable): Promise<boolean> {
    const { database } = this.#parts;
    for (const end = Date.now() + OUTCOME_MS; Date.now() < end; await sleep(50)) {
      const text = 'select pg_xact_status($1::xid8) as status';
      const [found] = await database.query<{ status: string | null }>({ text, values: [xid] }).catch(() => []);
      if (found && found.status !== 'in progress') return found.status === 'committed';
    }
    throw new StoreUncertain(lost.message, { cause: lost.cause });
  }

  async #after(open: OpenTransaction): Promise<void> {
    const { erasures } = this.#parts;
    if (open.erased.length > 0) erasures.sweepLater();
    await open.rowsCommitted?.();
  }
}
