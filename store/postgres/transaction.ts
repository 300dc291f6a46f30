import type { AuditEntry } from '../../resources/audit-entry.ts';
import { ByCollection } from '../by-collection.ts';
import type { CollectionName } from '../collections.ts';
import type { RecordChange, Transaction } from '../port.ts';
import { changeOf } from '../record-change.ts';
import type { StagedRows } from '../rows-port.ts';
import { frozenEntry } from './audit/log.ts';
import type { BatchedStatement } from './batched-writes.ts';
import { isStorable } from './records/filters.ts';
import { tableNamed } from './records/tables.ts';
import { TableWriter, type WriterDeps } from './records/writer.ts';
import type { Session, Statement } from './session.ts';

/** What a transaction reads and writes on its connection. */
export class OpenTransaction implements WriterDeps {
  readonly session: Session;
  readonly now: () => Date;
  readonly writesLate: boolean;
  readonly audit: AuditEntry[] = [];
  readonly erased: string[] = [];
  readonly erasedUsers: string[] = [];
  /** Imported rows that count with this transaction. */
  batch: StagedRows | undefined;
  /** Words of the records that were written, by collection. */
  readonly words = new Map<CollectionName, Set<string>>();
  /** Called after the COMMIT. */
  rowsCommitted: (() => Promise<void>) | undefined;
  /** The number of the transaction, once it has written. */
  xid: string | undefined;
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
      const result = await work(new TransactionView(this) as unknown as Transaction);
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

  writer(name: CollectionName): TableWriter {
    const writer = new TableWriter(tableNamed(name), this);
    this.#writers.set(name, writer);
    return writer;
  }

  /** What writes the records that wait for the last statement. */
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

/** What the work of a transaction gets to read and write. */
class TransactionView extends ByCollection<TableWriter> {
  readonly #open: OpenTransaction;

  constructor(open: OpenTransaction) {
    super();
    this.#open = open;
  }

  get audit(): Transaction['audit'] {
    return {
      append: (entry) => {
        this.#open.assertLive();
        this.#open.audit.push(frozenEntry(entry));
      },
    };
  }

  get rows(): Transaction['rows'] {
    return {
      commit: (rows) => {
        this.#open.assertLive();
        if (this.#open.batch) throw new Error('a transaction commits one batch of rows');
        this.#open.batch = rows;
      },
      erase: (uid) => {
        this.#open.assertLive();
        this.#open.erasedUsers.push(uid);
      },
    };
  }

  erase(ids: readonly string[]): void {
    this.#open.assertLive();
    this.#open.erased.push(...ids.filter(isStorable));
  }

  protected make(collection: CollectionName): TableWriter {
    return this.#open.writer(collection);
  }
}
