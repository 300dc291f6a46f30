import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { SealedBatch } from '../audit-proof/sealer.ts';
import type { CollectionName } from '../collections.ts';
import type { CommitAdditions } from '../commit-listeners.ts';
import { StoreUnavailable, StoreUncertain } from '../errors.ts';
import type { RecordChange, Transaction } from '../port.ts';
import { changeOf } from '../record-change.ts';
import type { StagedRows } from '../rows-port.ts';
import { type CollectedWork, TransactionView } from '../transaction-view.ts';
import type { Erasures } from './audit/erasures.ts';
import type { PostgresAudit } from './audit/log.ts';
import type { Changes } from './changes/changes.ts';
import type { Database } from './database.ts';
import { isConnectionLost, StoreReadOnly, withRetries } from './failures.ts';
import { isStorable } from './records/query.ts';
import { tableNamed } from './records/tables.ts';
import { TableWriter, type WriterDeps } from './records/writer.ts';
import type { PostgresRowStore } from './rows/row-store.ts';
import type { BatchedStatement, ClientSession, Session, Statement } from './session.ts';
import type { Vocabulary } from './text/vocabulary.ts';

class OpenTransaction implements WriterDeps, CollectedWork {
  readonly session: Session;
  readonly now: () => Date;
  readonly writesLate: boolean;
  readonly audit: AuditEntry[] = [];
  sealed: SealedBatch | undefined;
  readonly erased: string[] = [];
  readonly erasedUsers: string[] = [];
  batch: StagedRows | undefined;
  readonly words = new Map<CollectionName, Set<string>>();
  rowsCommitted: (() => Promise<void>) | undefined;
  xid: string | undefined;
  /** What is there if the transaction was committed, and else is not. */
  mark: Statement | undefined;
  readonly #writers = new Map<CollectionName, TableWriter>();
  #last: Promise<unknown> = Promise.resolve();
  #failure: unknown;
  #ended = false;

  constructor(session: Session, now: () => Date, { writesLate }: Pick<WriterDeps, 'writesLate'>) {
    this.now = now;
    this.writesLate = writesLate;
    this.session = {
      query: async (statement) => {
        if (this.#failure) throw this.#failure;
        try {
          return await session.query(ofTransactions(statement));
        } catch (error) {
          this.#failure = error;
          throw error;
        }
      },
    };
  }

  async run<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    try {
      // A writer checks each record by its collection's schema, so it is a writer of that collection's records.
      const result = await work(new TransactionView(this, (name) => this.#writer(name)) as unknown as Transaction);
      await this.#last;
      // A statement that failed undid the transaction, even if the work took no notice.
      if (this.#failure) throw this.#failure;
      return result;
    } catch (error) {
      throw this.#failure ?? error;
    } finally {
      this.#ended = true;
    }
  }

  inOrder<Result>(call: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(() => {
      this.assertLive();
      return call();
    });
    this.#last = done.catch(() => {});
    return done;
  }

  written(xid: string): void {
    this.xid = xid;
  }

  wrote(collection: CollectionName, words: readonly string[]): void {
    const known = this.words.get(collection) ?? new Set();
    for (const word of words) known.add(word);
    this.words.set(collection, known);
  }

  #writer(name: CollectionName): TableWriter {
    const writer = new TableWriter(tableNamed(name), this);
    this.#writers.set(name, writer);
    return writer;
  }

  get additions(): BatchedStatement[] {
    return [...this.#writers.values()].flatMap(({ additions }) => additions);
  }

  changes(): RecordChange[] {
    return [...this.#writers].flatMap(([name, { changes }]) =>
      [...changes.values()].flatMap(({ before, after }) => changeOf(name, before, after) ?? []),
    );
  }

  assertLive(): void {
    if (this.#ended) throw new Error('the transaction has ended');
  }
}

/** Its plan is made in a transaction, whose settings are others, and not used outside. It may wait for locks of others. */
function ofTransactions({ name, isQuick: _, ...statement }: Statement): Statement {
  return name === undefined ? statement : { ...statement, name: `tx ${name}` };
}

interface TransactionsDeps {
  readonly database: Database;
  readonly audit: PostgresAudit;
  readonly erasures: Erasures;
  readonly rows: PostgresRowStore;
  readonly hook: Pick<Changes, 'note' | 'committed'>;
  readonly vocabulary: Vocabulary;
  readonly additions: CommitAdditions;
  readonly now: () => Date;
}

interface Completed {
  readonly changes: readonly RecordChange[];
  enterWords(): void;
}

/** Attempts beside others. The ones after that run while no other transaction does. */
const ATTEMPTS_BESIDE_OTHERS = 3;
const OUTCOME_MS = 5000;
/** Whether a COMMIT was done that takes longer is asked. */
const COMMIT_MS = 10_000;

/** A sequential scan conflicts with every change of its table, and small tables would be read by one. */
const BEGIN = 'begin isolation level serializable; set local enable_seqscan = off';

/** Runs transactions serializable, and again where another one changed what was read: a record, a count, or an absence. */
export class Transactions {
  readonly #deps: TransactionsDeps;
  readonly #running = new Set<Promise<unknown>>();

  constructor(deps: TransactionsDeps) {
    this.#deps = deps;
  }

  async run<Result>(work: (tx: Transaction) => Promise<Result>, origin?: object): Promise<Result> {
    const running = withRetries((attempt) => this.#once(work, origin, attempt));
    const settled = running.catch(() => {}).finally(() => this.#running.delete(settled));
    this.#running.add(settled);
    return running;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #once<Result>(work: (tx: Transaction) => Promise<Result>, origin: object | undefined, attempt: number) {
    const { database, now, hook, erasures, audit, additions } = this.#deps;
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
        open.sealed?.undone();
        throw error;
      }
      await this.#commit(session, open);
      completed.enterWords();
      await this.#after(open);
      hook.committed(completed.changes, origin);
      hasErased = open.erased.length > 0;
      if (hasErased) await erasures.sign(open.erased).catch(() => {}); // the sweep does it again
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

  async #complete(open: OpenTransaction, session: ClientSession): Promise<Completed> {
    const { audit, erasures, rows, hook, vocabulary } = this.#deps;
    const { batch: staged, erasedUsers: erased } = open;
    if (staged || erased.length > 0) open.rowsCommitted = await rows.write(session, { staged, erased });
    await erasures.erase(
      session,
      open.erased.filter(isStorable),
      open.audit.map(({ id }) => id),
    );
    const { additions, enter } = vocabulary.toAdd(open.words);
    const changes = open.changes();
    const noted = changes.length > 0 ? [hook.note(changes)] : [];
    const others = [...open.additions, ...additions, ...noted];
    open.sealed = audit.sealed(open.audit);
    open.xid =
      (await audit.appendIn(session, open.sealed.entries, { justErased: open.erased.filter(isStorable), others })) ??
      open.xid;
    open.mark = markOf(open, noted);
    return { changes, enterWords: enter };
  }

  /** Where the answer to COMMIT got lost, the database is asked whether it was done. */
  async #commit(session: Session, open: OpenTransaction): Promise<void> {
    try {
      await session.query({ text: 'commit', answerMs: COMMIT_MS });
    } catch (error) {
      if (!(await this.#isCommittedAnyway(open, error))) {
        open.sealed?.undone();
        throw error;
      }
    }
    open.sealed?.kept();
  }

  async #isCommittedAnyway(open: OpenTransaction, error: unknown): Promise<boolean> {
    if (!(error instanceof StoreUnavailable) || !isConnectionLost(error.cause)) return false;
    try {
      return await this.#isCommitted(open, error);
    } catch (uncertain) {
      if (open.sealed) this.#deps.audit.unsure(open.sealed);
      open.sealed = undefined;
      throw uncertain;
    }
  }

  /** Its number says whether it has ended, and its mark how: a server that took the place of another one gives numbers again. */
  async #isCommitted({ xid, mark }: OpenTransaction, lost: StoreUnavailable): Promise<boolean> {
    const { database } = this.#deps;
    const ask = async (statement: Statement) => (await database.query({ ...statement, isQuick: true })).at(0);
    const end = performance.now() + OUTCOME_MS;
    for (; xid !== undefined && mark && performance.now() < end; await sleep(50)) {
      try {
        if (await ask(mark)) return true;
        const running = await ask({ text: RUNNING, values: [xid] });
        // It may have been committed between the two questions.
        if (!running) return (await ask(mark)) !== undefined;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    }
    throw new StoreUncertain(lost.message, { cause: lost.cause });
  }

  async #after(open: OpenTransaction): Promise<void> {
    const { erasures } = this.#deps;
    if (open.erased.length > 0) erasures.sweeping.soon();
    await open.rowsCommitted?.();
  }
}

/** Also a number that was not given yet: its transaction was on a server whose place another one took, or is about to begin. */
const RUNNING = `select 1 as running where case when $1::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) then true
  else pg_xact_status($1::xid8) = 'in progress' end`;

/** By an audit entry, whose id is its own. Else by the note for other processes. */
function markOf({ audit: [entry], xid }: OpenTransaction, [note]: readonly BatchedStatement[]): Statement | undefined {
  if (entry)
    return { text: 'select 1 as there from audit_entries where at = $1 and id = $2', values: [entry.at, entry.id] };
  const [process, , records] = note?.values ?? [];
  const text = 'select 1 as there from cluster_changes where xid = $1::xid8 and process = $2 and records::text = $3';
  return note && { text, values: [xid, process, records] };
}
