import { existsSync, readdirSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { refusalOf } from '../disk-full.ts';
import { StoreUnavailable } from '../errors.ts';
import { PIECE_BYTES, type StoredFiles } from '../files-port.ts';
import { type FileSystem, writeAll } from './files/file-system.ts';

const DRAFT = '.draft';

/** Each file is one of its own in a folder beside the journal. It gets its name once it is durable, and never changes. */
export class FolderFiles implements StoredFiles {
  readonly #folder: string;
  readonly #files: FileSystem;
  readonly #writing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(folder: string, files: FileSystem) {
    this.#folder = folder;
    this.#files = files;
  }

  put(id: string, bytes: Uint8Array): Promise<void> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'));
    const writing = this.#put(this.#path(id), bytes).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    return writing;
  }

  async *read(id: string): AsyncGenerator<Uint8Array, void> {
    const file = await open(this.#path(id), 'r').catch((cause) => {
      if (cause.code === 'ENOENT') return undefined;
      throw refusalOf(cause, this.#folder, 'the file could not be read');
    });
    if (!file) return;
    try {
      for (let at = 0, isFirst = true; ; isFirst = false) {
        const piece = Buffer.alloc(PIECE_BYTES);
        const { bytesRead } = await file.read(piece, 0, piece.length, at);
        if (bytesRead === 0 && !isFirst) return;
        yield piece.subarray(0, bytesRead);
        at += bytesRead;
        if (bytesRead === 0) return;
      }
    } finally {
      await file.close();
    }
  }

  /** Also of records that were deleted. @throws StoreUnavailable: some are still there, and go at the next start */
  async discard(ids: readonly string[]): Promise<void> {
    if (ids.length === 0 || !existsSync(this.#folder)) return;
    try {
      for (const id of ids) await this.#files.remove(this.#path(id));
      await this.#files.syncFolder(this.#folder);
    } catch (cause) {
      throw new StoreUnavailable('a file could not be removed; it is removed at the next start', { cause });
    }
  }

  /** Removes what a crash left: files without a record. Called before any is put. */
  async sweep(isKept: (id: string) => boolean): Promise<void> {
    const left = existsSync(this.#folder) ? readdirSync(this.#folder).filter((name) => !isKept(name)) : [];
    for (const name of left) await this.#files.remove(join(this.#folder, name));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#writing);
  }

  async #put(path: string, bytes: Uint8Array): Promise<void> {
    const draft = `${path}${DRAFT}`;
    try {
      if ((await mkdir(this.#folder, { recursive: true, mode: 0o700 })) !== undefined)
        await this.#files.syncFolder(join(this.#folder, '..'));
      const file = await this.#files.open(draft);
      try {
        await writeAll(file, bytes, 0);
        await file.truncate(bytes.length);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#files.rename(draft, path);
      await this.#files.syncFolder(this.#folder);
    } catch (cause) {
      for (const left of [draft, path]) await this.#files.remove(left).catch(() => {});
      throw refusalOf(cause, this.#folder, 'the file could not be written');
    }
  }

  #path(id: string): string {
    if (!/^\w+$/.test(id)) throw new Error(`${id} is no id of a file`);
    return join(this.#folder, id);
  }
}
