import { performance } from 'node:perf_hooks';
import { refusalOf } from '../../disk-full.ts';
import { type FileSystem, type WritableFile, writeAll } from '../files/file-system.ts';
import { journalPath } from '../files/folder.ts';
import type { Manifest } from '../files/manifest.ts';
import { sealLine } from './line.ts';
import { type ChainEnd, journalHeaderLine } from './recovery.ts';

interface Queued {
  readonly json: string;
  readonly written: (sequence: number) => void;
  readonly undo: () => void;
}

interface Waiting extends Queued {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface JournalOptions {
  readonly folder: string;
  readonly files: FileSystem;
  readonly format: number;
  readonly end: ChainEnd;
  readonly generation: number;
  readonly size: number;
  readonly probeMs: number;
  readonly manifest: Manifest;
  /** Called between batches, when every transaction accepted so far is durable. */
  readonly afterBatch: () => void;
}

const BATCH_LIMIT = 4 * 1024 * 1024;

/** The append-only file of transactions. All transactions that wait share one write and one sync (group commit). */
export class Journal {
  readonly #options: JournalOptions;
  readonly #queue: Waiting[] = [];
  readonly #chores: (() => Promise<void>)[] = [];
  #file: WritableFile | undefined;
  #end: ChainEnd;
  #generation: number;
  #size: number;
  #tailIsGood = false;
  #running: Promise<void> | undefined;
  #latest: Promise<void> = Promise.resolve();
  /** A next journal that could not be begun. It must be removed before the current one continues. */
  #abandoned: string | undefined;
  #probe: NodeJS.Timeout | undefined;
  /** Grows each time changes are removed from memory. */
  refusals = 0;
  error: Error | undefined;
  flushMs: number | undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#end = options.end;
    this.#generation = options.generation;
    this.#size = options.size;
  }

  get size(): number {
    return this.#size;
  }

  /** @throws StoreUnavailable when the transaction was not made durable. `undo` has already run by then. */
  append(queued: Queued): Promise<void> {
    this.#latest = new Promise((resolve, reject) => {
      this.#queue.push({ ...queued, resolve, reject });
      this.#start();
    });
    return this.#latest;
  }

  /** Runs `chore` while no batch is being written. It must not throw. */
  atBoundary(chore: () => Promise<void>): void {
    this.#chores.push(chore);
    this.#start();
  }

  async drained(): Promise<void> {
    while (this.#running) await this.#running;
  }

  settled(): Promise<void> {
    return this.#running ? this.#latest : Promise.resolve();
  }

  /** Opens the journal for writing. A missing header is written; a torn last line is cut off. */
  async begin(): Promise<void> {
    if (this.#size === 0) return this.#open(this.#generation);
    // A disk that refuses this refuses the next write too, which tries again.
    await this.#repair().then(
      () => this.#mark(),
      () => {},
    );
  }

  /** Continues in a new file, and returns where the earlier files end. Only at a boundary. */
  async nextGeneration(): Promise<{ generation: number; end: ChainEnd }> {
    await this.#repair();
    const end = this.#end;
    await this.#open(this.#generation + 1);
    return { generation: this.#generation, end };
  }

  async close(): Promise<void> {
    clearTimeout(this.#probe);
    await this.drained();
    clearTimeout(this.#probe);
    await this.#file?.close();
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Transactions of the same turn of the event loop share the first batch.
    await null;
    while (this.#queue.length > 0 || this.#chores.length > 0) {
      for (const chore of this.#chores.splice(0)) await chore();
      const batch = this.#takeBatch();
      if (batch.length === 0) continue;
      try {
        await this.#write(batch);
      } catch (error) {
        await this.#refuse(batch, error);
      }
      this.#options.afterBatch();
    }
    this.#running = undefined;
  }

  async #open(generation: number): Promise<void> {
    const { folder, files, format } = this.#options;
    const path = journalPath(folder, generation);
    const header = journalHeaderLine(format, generation, this.#end);
    const bytes = Buffer.from(header.text);
    if (generation !== this.#generation) this.#abandoned = path;
    const file = await files.open(path);
    try {
      await file.truncate(0);
      await writeAll(file, bytes, 0);
      await file.sync();
      await files.syncFolder(folder);
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#abandoned = undefined;
    await this.#file?.close();
    this.#file = file;
    this.#generation = generation;
    this.#end = { sequence: this.#end.sequence, crc: header.crc };
    this.#size = bytes.length;
    this.#tailIsGood = true;
    this.#mark();
  }

  #takeBatch(): Waiting[] {
    let length = 0;
    const end = this.#queue.findIndex((waiting) => {
      length += waiting.json.length;
      return length > BATCH_LIMIT;
    });
    return this.#queue.splice(0, end < 0 ? this.#queue.length : Math.max(1, end));
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const started = performance.now();
    const file = await this.#repair();
    let { sequence, crc } = this.#end;
    const first = sequence + 1;
    let text = '';
    for (const { json } of batch) {
      sequence += 1;
      const line = sealLine(String(sequence), json, crc);
      crc = line.crc;
      text += line.text;
    }
    const bytes = Buffer.from(text);
    this.#tailIsGood = false;
    await writeAll(file, bytes, this.#size);
    await file.sync();
    this.#tailIsGood = true;
    this.#size += bytes.length;
    this.#end = { sequence, crc };
    this.#mark();
    this.#flushed(performance.now() - started);
    for (const [at, waiting] of batch.entries()) {
      waiting.written(first + at);
      waiting.resolve();
    }
  }

  #mark(): void {
    this.#options.manifest.markJournal({ ...this.#end, generation: this.#generation, size: this.#size });
  }

  #flushed(ms: number): void {
    this.flushMs = ms;
    this.error = undefined;
  }

  async #repair(): Promise<WritableFile> {
    const { folder, files } = this.#options;
    if (this.#abandoned) {
      await files.remove(this.#abandoned);
      await files.syncFolder(folder);
      this.#abandoned = undefined;
    }
    this.#file ??= await files.open(journalPath(folder, this.#generation));
    if (!this.#tailIsGood) {
      await this.#file.truncate(this.#size);
      await this.#file.sync();
      this.#tailIsGood = true;
    }
    return this.#file;
  }

  /** Fails the batch and all transactions after it, because those were decided on the changes of the batch. */
  async #refuse(batch: readonly Waiting[], cause: unknown): Promise<void> {
    const refused = [...batch, ...this.#queue.splice(0)];
    for (const { undo } of refused.toReversed()) undo();
    this.refusals += 1;
    this.#latest = Promise.resolve();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const place = journalPath(this.#options.folder, this.#generation);
    this.error = refusalOf(cause, place, `the change could not be written to the disk: ${reason}`);
    try {
      await this.#repair();
    } catch {}
    for (const { reject } of refused) reject(this.error);
    this.#probeLater();
  }

  /** Tests when the disk accepts writes again, so that the status says so before the next caller tries. */
  #probeLater(): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => void this.requireWritable().catch(() => {}), this.#options.probeMs).unref();
  }

  /** Where the last write was refused, tries another one. @throws StoreUnavailable */
  async requireWritable(): Promise<void> {
    if (this.error) await this.append({ json: '{}', written: () => {}, undo: () => {} });
  }
}
