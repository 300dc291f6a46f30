import { type AuditEntry, auditEntry } from '../../resources/audit-entry.ts';
import type { NewLoggedRow, RowReader, Transaction, Writers } from '../port.ts';
import type { Collection } from './collection.ts';
import { ROW_FILE_ID, ROW_FILES } from './kept-collections.ts';
import type { TransactionBody } from './recovery.ts';
import { frozenCopy, type Row } from './row.ts';
import type { RowExtent } from './row-lines.ts';
import { Staging } from './staging.ts';
import type { Change } from './unwritten.ts';

/** The changes of one transaction until it commits. */
export class StagedTransaction {
  readonly #stagings = new Map<string, Staging>();
  readonly #audit: AuditEntry[] = [];
  readonly #rowLog: RowReader;
  readonly #now: () => string;
  readonly #erased: string[] = [];
  readonly rows: NewLoggedRow[] = [];
  #ended = false;

  constructor(collections: ReadonlyMap<string, Collection>, rowLog: RowReader, now: () => string) {
    this.#rowLog = rowLog;
    this.#now = now;
    for (const [name, collection] of collections) {
      collection.expire(now());
      this.#stagings.set(name, new Staging(collection, now, () => this.#assertLive()));
    }
  }

  async run<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const audit = {
      append: (entry: AuditEntry) => {
        this.#assertLive();
        // A copy of an audit entry is one.
        this.#audit.push(frozenCopy(auditEntry.parse(entry)) as AuditEntry);
      },
    };
    const rows = {
      read: (from: number, limit: number) => this.#rowLog.read(from, limit),
      get: (positions: readonly number[]) => this.#rowLog.get(positions),
      append: (added: readonly NewLoggedRow[]) => {
        this.#assertLive();
        for (const row of added) this.rows.push(row);
      },
    };
    const erase = (ids: readonly string[]) => {
      this.#assertLive();
      this.#erased.push(...ids);
    };
    // A staging checks each record by its collection's schema, so it is a writer of that collection's records.
    const writers = Object.fromEntries(this.#stagings) as unknown as Writers;
    try {
      return await work({ ...writers, audit, rows, erase });
    } finally {
      this.#ended = true;
    }
  }

  /** Takes the rows in as far as the extent says. */
  placeRows(extent: RowExtent): void {
    const now = this.#now();
    const row: Row = Object.freeze({ id: ROW_FILE_ID, ...extent, createdAt: now, updatedAt: now, revision: 1 });
    this.#stagings.get(ROW_FILES)?.changes.set(ROW_FILE_ID, row);
  }

  changes(): Change[] {
    return [...this.#stagings].flatMap(([collection, { changes }]) =>
      Array.from(changes, ([id, row]) => ({ collection, id, row })),
    );
  }

  get erases(): boolean {
    return this.#erased.length > 0;
  }

  /** What the journal keeps of it; undefined when nothing changed. */
  body(): TransactionBody | undefined {
    const put: Record<string, Row[]> = {};
    const deleted: Record<string, string[]> = {};
    for (const [name, { changes }] of this.#stagings) {
      const rows = [...changes.values()].filter((row) => row !== undefined);
      const gone = [...changes].flatMap(([id, row]) => (row ? [] : id));
      if (rows.length > 0) put[name] = rows;
      if (gone.length > 0) deleted[name] = gone;
    }
    const body = {
      ...(Object.keys(put).length > 0 && { put }),
      ...(Object.keys(deleted).length > 0 && { delete: deleted }),
      ...(this.#audit.length > 0 && { audit: this.#audit }),
      ...(this.#erased.length > 0 && { erased: this.#erased }),
    };
    return Object.keys(body).length > 0 ? body : undefined;
  }

  #assertLive(): void {
    if (this.#ended) throw new Error('the transaction has ended');
  }
}
