import type { AuditEntry } from '../../../resources/audit-entry.ts';
import { ProofKey } from '../../audit-proof/proof-key.ts';
import { AuditProver } from '../../audit-proof/prover.ts';
import type { SealedEntry } from '../../audit-proof/seal.ts';
import type { SealedBatch } from '../../audit-proof/sealer.ts';
import { StoreUnavailable } from '../../errors.ts';
import type { AuditFilter, AuditLog, AuditQuery, Page, Tally, TallyQuery } from '../../port.ts';
import { frozenEntry } from '../../transaction-view.ts';
import type { Database } from '../database.ts';
import { isPartitionMissing } from '../failures.ts';
import { type BatchedStatement, batchWrites, type Session } from '../session.ts';
import { countEntries, entriesToAdd, findEntries, storable, tallyCalls } from './entries.ts';
import { PostgresHeads } from './heads.ts';
import { AuditPartitions } from './partitions.ts';
import { sealedEntries } from './sealed-entries.ts';
import { UnsureBatches } from './unsure-batches.ts';

const FLUSH_MS = 250;
const RETRY_MS = 1000;
const AT_ONCE = 1000;
const MOST_WAITING = 100_000;

/** The audit log in the database. Entries of calls that only read wait for a moment, so that many are written at once. */
export class PostgresAudit implements AuditLog {
  readonly partitions: AuditPartitions;
  readonly proof: AuditProver | undefined;
  readonly #unsure: UnsureBatches;
  readonly #database: Database;
  readonly #now: () => Date;
  #waiting: SealedEntry[] = [];
  #lost = 0;
  #error: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(database: Database, now: () => Date, secret: string | undefined) {
    this.#database = database;
    this.#now = now;
    this.partitions = new AuditPartitions(database);
    this.#unsure = new UnsureBatches(database);
    const log = {
      heads: new PostgresHeads(database),
      flush: () => this.#flush(),
      settle: () => this.#unsure.settle(),
      entries: (range: Parameters<typeof sealedEntries>[1]) => sealedEntries(database, range),
    };
    this.proof = secret === undefined ? undefined : new AuditProver(new ProofKey(secret), log, now);
  }

  get error(): Error | undefined {
    if (this.#lost === 0) return this.#error;
    const why = this.#error?.message ?? 'the database took no writes';
    return new Error(`${this.#lost} audit entries of reads were lost: ${why}`);
  }

  append(entry: AuditEntry): void {
    this.#assertOpen();
    if (this.#waiting.length >= MOST_WAITING) {
      this.#lost += 1;
      return;
    }
    const kept = storable(frozenEntry(entry));
    this.#waiting.push(this.proof?.seal(kept) ?? kept);
    this.#flushLater(FLUSH_MS);
  }

  async find(query: AuditQuery): Promise<Page<AuditEntry>> {
    await this.#flushIfWritable();
    return findEntries(this.#database, query);
  }

  async count(filter: AuditFilter, upTo?: number): Promise<number> {
    await this.#flushIfWritable();
    return countEntries(this.#database, filter, upTo);
  }

  async tally(query: TallyQuery): Promise<readonly Tally[]> {
    await this.#flushIfWritable();
    return tallyCalls(this.#database, query);
  }

  /** @throws StoreUnavailable when the database takes no entries. They wait on. */
  async flush(): Promise<void> {
    this.#assertOpen();
    await this.#flush();
  }

  /** Where the database is read-only, entries of reads wait on, and those that are written are shown. */
  async #flushIfWritable(): Promise<void> {
    if (this.#database.isReadOnly) this.#assertOpen();
    else await this.flush();
  }

  async prune(before: string): Promise<number> {
    await this.flush();
    const day = new Date(before).toISOString().slice(0, 10);
    await this.proof?.prune(day);
    return this.partitions.prune(day);
  }

  /** The entries of a transaction as they are stored. It must say how it ended. */
  sealed(entries: readonly AuditEntry[]): SealedBatch {
    const kept = entries.map(storable);
    return this.proof?.sealBatch(kept) ?? { entries: kept, kept() {}, undone() {} };
  }

  /** It is not known yet whether the transaction of the entries was committed. */
  unsure(batch: SealedBatch): void {
    if (this.proof) this.#unsure.add(batch);
  }

  async appendIn(
    session: Session,
    entries: readonly SealedEntry[],
    {
      justErased = [],
      others = [],
    }: { readonly justErased?: readonly string[]; readonly others?: readonly BatchedStatement[] } = {},
  ): Promise<string | undefined> {
    if (entries.length === 0) return batchWrites(session, others);
    await this.partitions.ensure(
      entries.map(({ at }) => at),
      this.#now(),
    );
    try {
      return await batchWrites(session, [entriesToAdd(entries, justErased), ...others]);
    } catch (error) {
      if (isPartitionMissing(error)) this.partitions.forget();
      throw error;
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isClosed = true;
    let isFlushed = false;
    try {
      await this.#flush();
      isFlushed = true;
    } finally {
      await this.proof?.close({ signs: isFlushed });
    }
  }

  #flush(): Promise<void> {
    const flushed = this.#last.then(() => this.#write());
    this.#last = flushed.catch(() => {});
    return flushed;
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      while (this.#waiting.length > 0) {
        const some = this.#waiting.slice(0, AT_ONCE);
        await this.appendIn(this.#database, some).catch((error) => {
          if (!isPartitionMissing(error)) throw error;
          return this.appendIn(this.#database, some);
        });
        this.#waiting = this.#waiting.slice(some.length);
      }
      this.#error = undefined;
    } catch (error) {
      this.#error = error instanceof Error ? error : new Error(String(error));
      if (!this.#isClosed) this.#flushLater(RETRY_MS);
      throw error;
    }
  }

  #flushLater(ms: number): void {
    this.#timer ??= setTimeout(() => void this.#flush().catch(() => {}), ms).unref();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StoreUnavailable('the store is closed');
  }
}
