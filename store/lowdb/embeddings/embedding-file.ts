import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { refusalOf } from '../../disk-full.ts';
import type { EmbeddedRecord, EmbeddingBatch, Embeddings, StoredEmbedding } from '../../embeddings-port.ts';
import { StoreUnavailable } from '../../errors.ts';
import { Mutex } from '../../mutex.ts';
import { type FileSystem, type WritableFile, writeAll } from '../files/file-system.ts';
import { HEADER, lengthIn, packEntry, unpackEntry } from './entry.ts';

export const EMBEDDINGS = 'embeddings.bin';
const DRAFT = `${EMBEDDINGS}.tmp`;
const BATCH_BYTES = 1_000_000;
const BLOCK_BYTES = 256 * 1024;
/** The file is written again without what was removed when that is more than the rest. */
const LEAST_REMOVED = 1_000_000;

interface Entry {
  readonly model: string;
  readonly record: string;
  at: number;
  readonly size: number;
}

/** The file, once it was read. */
interface Opened {
  file: WritableFile;
  end: number;
  kept: number;
  /** By model and record. */
  readonly entries: Map<string, Entry>;
}

/**
 * Embeddings in a file of their own beside the journal, because they would take memory and start time there. Entries are appended and
 * removed by overwriting them with zeros, so that nothing of an erased record stays. A cut or damaged entry counts as missing.
 */
export class EmbeddingFile implements Embeddings {
  readonly #folder: string;
  readonly #files: FileSystem;
  readonly #turns = new Mutex();
  #opening: Promise<Opened> | undefined;
  #isClosed = false;

  constructor(folder: string, files: FileSystem) {
    this.#folder = folder;
    this.#files = files;
  }

  async *read(after = 0): AsyncGenerator<EmbeddingBatch, void> {
    if (!this.#isThere) return;
    const { end, entries } = await this.#open();
    // A compaction moves entries, and leaves the file that is read as it is.
    const places = Array.from(entries.values(), ({ at, size }) => ({ at, size })).sort(
      (one, other) => one.at - other.at,
    );
    const reader = new BlockReader(await open(this.#path, 'r'));
    try {
      let rows: StoredEmbedding[] = [];
      let bytes = 0;
      for (const { at, size } of places) {
        if (at < after) continue;
        const row = await readEntry(reader, at, size);
        if (row) rows.push(row);
        bytes += size;
        if (bytes < BATCH_BYTES) continue;
        yield { rows, place: at + size };
        [rows, bytes] = [[], 0];
      }
      yield { rows, place: end };
    } finally {
      await reader.close();
    }
  }

  put(rows: readonly StoredEmbedding[]): Promise<void> {
    return this.#change(async (opened) => {
      const packed = rows.map(packEntry);
      const { end } = opened;
      try {
        await writeAll(opened.file, Buffer.concat(packed), end);
        await opened.file.sync();
      } catch (cause) {
        await opened.file.truncate(end).catch(() => {});
        throw cause;
      }
      let at = end;
      for (const [place, { model, ...row }] of rows.entries()) {
        const size = packed[place]?.length ?? 0;
        await wipe(opened, opened.entries.get(keyOf(model, row)));
        opened.entries.set(keyOf(model, row), { model, record: recordOf(row), at, size });
        at += size;
        opened.kept += size;
      }
      opened.end = at;
    });
  }

  async remove(records: readonly EmbeddedRecord[]): Promise<void> {
    if (!this.#isThere || records.length === 0) return;
    const removed = new Set(records.map(recordOf));
    await this.#wipeWhere(({ record }) => removed.has(record));
  }

  async removeModel(model: string): Promise<void> {
    if (this.#isThere) await this.#wipeWhere((entry) => entry.model === model);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const endTurn = await this.#turns.take();
    endTurn();
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.file.close();
  }

  get #path(): string {
    return join(this.#folder, EMBEDDINGS);
  }

  /** Without a file there is nothing to read or remove, and none is made for that. */
  get #isThere(): boolean {
    return this.#opening !== undefined || existsSync(this.#path);
  }

  #wipeWhere(isRemoved: (entry: Entry) => boolean): Promise<void> {
    return this.#change(async (opened) => {
      for (const [key, entry] of opened.entries) {
        if (!isRemoved(entry)) continue;
        await wipe(opened, entry);
        opened.entries.delete(key);
      }
      await opened.file.sync();
      const removed = opened.end - opened.kept;
      if (removed > LEAST_REMOVED && removed > opened.kept) await this.#compact(opened);
    });
  }

  async #change(work: (opened: Opened) => Promise<void>): Promise<void> {
    const opened = await this.#open();
    const endTurn = await this.#turns.take();
    try {
      if (this.#isClosed) throw new StoreUnavailable('the store is closed');
      await work(opened);
    } catch (cause) {
      if (cause instanceof StoreUnavailable) throw cause;
      throw refusalOf(cause, this.#path, 'the vectors of texts could not be written');
    } finally {
      endTurn();
    }
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#load().catch((cause) => {
      this.#opening = undefined;
      throw refusalOf(cause, this.#path, 'the vectors of texts could not be read');
    });
    return this.#opening;
  }

  async #load(): Promise<Opened> {
    await this.#files.remove(join(this.#folder, DRAFT));
    const file = await this.#files.open(this.#path);
    const opened: Opened = { file, end: 0, kept: 0, entries: new Map() };
    const reader = new BlockReader(await open(this.#path, 'r'));
    try {
      const total = await reader.size();
      for (;;) {
        const length = lengthIn(await reader.read(opened.end, HEADER));
        if (length === undefined || opened.end + HEADER + length > total) break;
        const size = HEADER + length;
        const row = await readEntry(reader, opened.end, size);
        if (row) {
          const key = keyOf(row.model, row);
          // A crash came before the former one was overwritten.
          await wipe(opened, opened.entries.get(key));
          opened.entries.delete(key);
          opened.entries.set(key, { model: row.model, record: recordOf(row), at: opened.end, size });
          opened.kept += size;
        }
        opened.end += size;
      }
      if (opened.end < total) await file.truncate(opened.end);
    } catch (error) {
      await file.close();
      throw error;
    } finally {
      await reader.close();
    }
    return opened;
  }

  async #compact(opened: Opened): Promise<void> {
    const draft = join(this.#folder, DRAFT);
    const file = await this.#files.open(draft);
    const reader = new BlockReader(await open(this.#path, 'r'));
    const places: number[] = [];
    let end = 0;
    try {
      for (const { at, size } of opened.entries.values()) {
        await writeAll(file, await reader.read(at, size), end);
        places.push(end);
        end += size;
      }
      await file.sync();
      await this.#files.rename(draft, this.#path);
      await this.#files.syncFolder(this.#folder);
    } catch (error) {
      await file.close();
      await this.#files.remove(draft).catch(() => {});
      throw error;
    } finally {
      await reader.close();
    }
    await opened.file.close();
    Object.assign(opened, { file, end, kept: end });
    for (const [place, entry] of [...opened.entries.values()].entries()) entry.at = places[place] ?? 0;
  }
}

function keyOf(model: string, record: EmbeddedRecord): string {
  return `${model}\n${recordOf(record)}`;
}

function recordOf({ collection, id }: EmbeddedRecord): string {
  return `${collection} ${id}`;
}

async function wipe(opened: Opened, entry: Entry | undefined): Promise<void> {
  if (!entry) return;
  await writeAll(opened.file, Buffer.alloc(entry.size - 4), entry.at + 4);
  opened.kept -= entry.size;
}

async function readEntry(reader: BlockReader, at: number, size: number): Promise<StoredEmbedding | undefined> {
  const entry = await reader.read(at, size);
  return entry.length < size ? undefined : unpackEntry(entry);
}

/** Reads many entries at once, since each turn of the disk takes longer than an entry. */
class BlockReader {
  readonly #file: FileHandle;
  #from = 0;
  #block: Buffer = Buffer.alloc(0);

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async size(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  /** Fewer bytes at the end of the file. */
  async read(at: number, size: number): Promise<Buffer> {
    if (at < this.#from || at + size > this.#from + this.#block.length) {
      const block = Buffer.alloc(Math.max(size, BLOCK_BYTES));
      const { bytesRead } = await this.#file.read(block, 0, block.length, at);
      [this.#from, this.#block] = [at, block.subarray(0, bytesRead)];
    }
    return this.#block.subarray(at - this.#from, at - this.#from + size);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
