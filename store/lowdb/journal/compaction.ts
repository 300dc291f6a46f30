import type { Low } from 'lowdb';
import type { Row } from '../../row.ts';
import type { FileSystem } from '../files/file-system.ts';
import { journalPath, journalsIn } from '../files/folder.ts';
import type { Collection } from '../records/collection.ts';
import type { Journal } from './journal.ts';
import { hex } from './line.ts';
import type { ChainEnd } from './recovery.ts';
import { emptySnapshot, type Snapshot, type SnapshotAdapter } from './snapshot.ts';
import type { StoredChange } from './undo-log.ts';

interface CompactionOptions {
  readonly folder: string;
  readonly files: FileSystem;
  readonly format: number;
  readonly snapshots: SnapshotAdapter;
  readonly low: Low<Snapshot>;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly journal: Journal;
  readonly minimumBytes: number;
  readonly retryMs: number;
  readonly unwritten: () => Iterable<StoredChange>;
  readonly settleAudit: () => Promise<void>;
}

class CompactionStopped extends Error {}

/** Merges the journals into a new snapshot, in the background, when they become too long. */
export class Compaction {
  readonly #options: CompactionOptions;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;
  #snapshotBytes: number;
  error: Error | undefined;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.#snapshotBytes = options.snapshots.size;
  }

  check(): void {
    const { journal, minimumBytes } = this.#options;
    if (journal.size > Math.max(minimumBytes, this.#snapshotBytes) && !this.#retry) this.request().catch(() => {});
  }

  /** Starts a compaction unless one runs. Resolves when new transactions go to a new journal. */
  request(): Promise<void> {
    if (this.#running || this.#closed) return Promise.resolve();
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const copied = this.#copyAtBoundary();
    this.#running = this.#write(copied).finally(() => {
      this.#running = undefined;
    });
    return copied.then(() => {});
  }

  /** Runs a compaction that begins after this call. One that is already running may have copied what is deleted by now. */
  async renew(): Promise<void> {
    await this.#running;
    await this.request();
    await this.#running;
  }

  async first(generation: number, end: ChainEnd): Promise<void> {
    await this.#save(this.#copy(generation, end));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#running;
  }

  /** Called while a snapshot is written. Throws when the store is closing. */
  assertOpen(): void {
    if (this.#closed) throw new CompactionStopped('the store is closing');
  }

  async #write(copied: Promise<Snapshot>): Promise<void> {
    try {
      const snapshot = await copied;
      await this.#options.settleAudit();
      await this.#save(snapshot);
      await this.#removeOld(snapshot.generation);
      this.error = undefined;
    } catch (error) {
      if (!(error instanceof CompactionStopped)) this.#failed(error);
    }
  }

  async #save(snapshot: Snapshot): Promise<void> {
    const { low, snapshots } = this.#options;
    low.data = snapshot;
    try {
      await low.write();
      this.#snapshotBytes = snapshots.size;
    } finally {
      low.data = emptySnapshot;
    }
  }

  #failed(cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause);
    this.error = new Error(`the journals could not be merged into a snapshot: ${reason}`, { cause });
    if (this.#closed) return;
    this.#retry = setTimeout(() => {
      this.request().catch(() => {});
    }, this.#options.retryMs).unref();
  }

  #copyAtBoundary(): Promise<Snapshot> {
    const { journal } = this.#options;
    return new Promise((resolve, reject) => {
      journal.atBoundary(async () => {
        try {
          const { generation, end } = await journal.nextGeneration();
          resolve(this.#copy(generation, end));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Records never change, so copying the references is enough. Changes that are not durable yet are undone in the copy. */
  #copy(generation: number, end: ChainEnd): Snapshot {
    const { collections, format, unwritten } = this.#options;
    const before = new Map<string, Map<string, Row | undefined>>();
    for (const { collection, id, row } of unwritten()) {
      const rows = before.get(collection) ?? new Map<string, Row | undefined>();
      before.set(collection, rows.set(id, row));
    }
    const copies: Record<string, Iterable<Row>> = {};
    for (const [name, collection] of collections) copies[name] = durableRows(collection.rows(), before.get(name));
    return { format, generation, sequence: end.sequence, chain: hex(end.crc), collections: copies };
  }

  async #removeOld(generation: number): Promise<void> {
    const { folder, files } = this.#options;
    for (const old of journalsIn(folder)) if (old < generation) await files.remove(journalPath(folder, old));
    await files.syncFolder(folder);
  }
}

function* durableRows(rows: readonly Row[], before: ReadonlyMap<string, Row | undefined> | undefined) {
  for (const row of rows) if (!before?.has(row.id)) yield row;
  for (const row of before?.values() ?? []) if (row) yield row;
}
