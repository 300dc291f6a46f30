import { type FileHandle, open } from 'node:fs/promises';
import type { LoggedRow, NewLoggedRow, RowReader } from '../../port.ts';
import { type Files, type WritableFile, writeAll } from '../files/files.ts';
import { rowsPath } from '../files/folder.ts';
import {
  headEnd,
  MARK,
  positionOf,
  type RowExtent,
  type RowState,
  readRow,
  remember,
  rowLines,
  sealRow,
} from './row-lines.ts';
import { RowRewrite } from './row-rewrite.ts';

const CHUNK = 1 << 20;
/** Copying uses smaller chunks, since nobody waits for it. */
const COPY_CHUNK = 256 * 1024;
const LINE_GUESS = 4096;

/**
 * Imported rows in one file, one sealed line each, in order of their positions. Only the bytes before the end count: the journal commits
 * the extent after the bytes are durable, and the next rows overwrite what lies behind it. Dropping rows makes a new file: its head holds
 * the remaining rows with their old positions, and new rows follow it.
 */
export class RowFile implements RowReader {
  readonly #folder: string;
  readonly #files: Files;
  #file: WritableFile | undefined;
  /** The committed and durable state. Readers see nothing beyond it. */
  #state: RowState;

  constructor(folder: string, files: Files, extent: RowExtent) {
    this.#folder = folder;
    this.#files = files;
    this.#state = { extent, marks: [] };
  }

  get extent(): RowExtent {
    return this.#state.extent;
  }

  /** Makes the rows durable behind the end. Returns the extent that includes them. */
  async write(rows: readonly NewLoggedRow[]): Promise<RowExtent> {
    const { extent } = this.#state;
    const bytes = Buffer.from(rows.map(sealRow).join(''));
    const isNew = this.#file === undefined;
    this.#file ??= await this.#files.open(rowsPath(this.#folder, extent.file));
    await writeAll(this.#file, bytes, extent.end);
    await this.#file.sync();
    if (isNew) await this.#files.syncFolder(this.#folder);
    return { ...extent, end: extent.end + bytes.length };
  }

  /** Adds the rows that `write` made durable to the log. */
  commit(extent: RowExtent): void {
    this.#state = { ...this.#state, extent };
  }

  async read(from: number, limit: number): Promise<readonly LoggedRow[]> {
    if (from >= this.extent.end + this.extent.shift || limit < 1) return [];
    return this.#reading(async (file, { extent, marks }, path) => {
      const rows: LoggedRow[] = [];
      const start = offsetOf(from, { extent, marks });
      for await (const lines of rowLines(file, { from: start, end: extent.end, size: CHUNK, path })) {
        for (const line of lines) {
          const row = readRow(line, extent, path);
          if (line.offset < extent.head) remember(marks, { position: row.position, offset: line.offset });
          if (row.position < from) continue;
          rows.push(row);
          if (rows.length === limit) return rows;
        }
      }
      return rows;
    });
  }

  async get(positions: readonly number[]): Promise<readonly LoggedRow[]> {
    if (positions.length === 0 || this.extent.end === 0) return [];
    return this.#reading(async (file, state, path) => {
      const found: (LoggedRow | undefined)[] = [];
      for (const position of positions) found.push(await rowAt(file, position, state, path));
      return found.filter((row) => row !== undefined);
    });
  }

  /** A new file without these rows that can replace this one. Undefined when this file has none of them. Throwing in `onChunk` ends it. */
  async without(positions: ReadonlySet<number>, onChunk: () => void): Promise<RowRewrite | undefined> {
    if (positions.size === 0 || this.extent.end === 0) return undefined;
    return this.#reading(async (file, { extent }, path) => {
      const rewrite = await RowRewrite.begin(this.#folder, this.#files, extent);
      const lines = rowLines(file, { from: 0, end: extent.end, size: COPY_CHUNK, path });
      const dropped = await rewrite.orDiscarded(() => rewrite.copy(lines, positions, onChunk));
      if (dropped > 0) return rewrite;
      await rewrite.discard();
      return undefined;
    });
  }

  /** Called when the extent of the new file is committed. Removes the old file. */
  async replace(state: RowState): Promise<void> {
    const { file } = this.extent;
    this.#state = state;
    await this.#file?.close();
    this.#file = undefined;
    // Where an open handle prevents the removal, the next start removes the file.
    await this.#files.remove(rowsPath(this.#folder, file)).catch(() => {});
    await this.#files.syncFolder(this.#folder);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #reading<Result>(work: (file: FileHandle, state: RowState, path: string) => Promise<Result>): Promise<Result> {
    const state = this.#state;
    const path = rowsPath(this.#folder, state.extent.file);
    const file = await open(path, 'r').catch((error) => {
      // Another file has replaced this one meanwhile.
      if (this.extent.file !== state.extent.file) return undefined;
      throw error;
    });
    if (!file) return this.#reading(work);
    try {
      return await work(file, state, path);
    } finally {
      await file.close();
    }
  }
}

/** The offset from which to search for the position. */
function offsetOf(position: number, { extent, marks }: RowState): number {
  if (position >= headEnd(extent)) return position - extent.shift;
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((marks[middle]?.position ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return marks[low - 1]?.offset ?? 0;
}

async function rowAt(file: FileHandle, position: number, state: RowState, path: string) {
  const { extent } = state;
  const inHead = position < headEnd(extent);
  const place = {
    from: offsetOf(position, state),
    end: inHead ? extent.head : extent.end,
    size: inHead ? MARK : LINE_GUESS,
    path,
  };
  for await (const lines of rowLines(file, place)) {
    for (const line of lines) {
      const here = positionOf(line, extent.shift);
      if (here === position) return readRow(line, extent, path);
      if (here > position) return undefined;
    }
  }
  return undefined;
}
