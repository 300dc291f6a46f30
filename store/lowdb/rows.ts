import type { AuditEntry } from '../../resources/audit-entry.ts';
import { DuckRowStore } from '../duckdb/row-store.ts';
import { StoreUnavailable, StoreUncertain } from '../errors.ts';
import type { SegmentedAudit } from './audit/log.ts';
import type { Collection } from './records/collection.ts';
import { ROW_ERASURES, ROW_VERSION_ID, ROW_VERSIONS } from './records/own-collections.ts';
import type { StagedTransaction } from './transaction.ts';

interface RowCommitsOptions {
  readonly folder: string;
  readonly memoryMb: number;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly audit: SegmentedAudit;
}

/** Commits rows before their transaction, with its audit entries beside them, which are added to the log if the journal lacks it. */
export class RowCommits {
  readonly rows: DuckRowStore;
  readonly #audit: SegmentedAudit;
  transact: ((work: (staged: StagedTransaction) => void) => Promise<void>) | undefined;

  constructor({ folder, memoryMb, collections, audit }: RowCommitsOptions) {
    this.#audit = audit;
    const erasures = () => collections.get(ROW_ERASURES)?.rows() ?? [];
    this.rows = new DuckRowStore({
      folder,
      memoryMb,
      recovery: {
        leastVersion: () => Number(collections.get(ROW_VERSIONS)?.get(ROW_VERSION_ID)?.version ?? 0),
        erased: () => erasures().map(({ uid }) => String(uid)),
        confirm: (entries) => this.#confirm(entries),
        recovered: () => this.#forget(erasures().map(({ id }) => id)),
      },
    });
  }

  /** Called before the transaction is given to the journal. @throws StoreUnavailable */
  async write(staged: StagedTransaction): Promise<void> {
    if (!staged.batch) return;
    await staged.batch.commit(staged.audit);
    staged.placeVersion(staged.batch.version);
    staged.hasCommittedRows = true;
  }

  /** Called with the failure of the transaction. Returns what its caller is told. */
  mend(staged: StagedTransaction, failure: unknown): unknown {
    if (!staged.hasCommittedRows) return failure;
    for (const entry of staged.audit) this.#audit.append(entry);
    this.rows.keepUnconfirmed(this.#audit.settle());
    return new StoreUncertain('the rows were stored, the rest of their transaction was not', { cause: failure });
  }

  /** Called when the transaction is durable. `notes` say which users it erases, until their rows are gone. */
  async erase(notes: readonly string[], { erasedUsers, audit }: StagedTransaction): Promise<void> {
    try {
      await this.rows.erase(erasedUsers, audit);
    } catch (cause) {
      throw new StoreUnavailable('imported rows of the user could not be removed; they are removed at the next start', {
        cause,
      });
    }
    this.#forget(notes);
  }

  /** A note that stays is harmless: the next start removes the rows again. */
  #forget(notes: readonly string[]): void {
    if (notes.length === 0) return;
    this.transact?.((staged) => staged.removeErasures(notes)).catch(() => {});
  }

  async #confirm(entries: readonly AuditEntry[]): Promise<void> {
    for (const entry of entries) {
      const { records } = await this.#audit.find({ requestId: entry.requestId, limit: MOST_OF_A_REQUEST });
      if (!records.some(({ id }) => id === entry.id)) this.#audit.append(entry);
    }
    if (entries.length > 0) await this.#audit.settle();
  }
}

const MOST_OF_A_REQUEST = 100_000;
