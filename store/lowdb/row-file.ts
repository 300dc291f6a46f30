import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoggedRow, NewLoggedRow, RowLog } from '../port.ts';
import { type Files, type WritableFile, writeAll } from './files.ts';
import { damaged, ROWS } from './folder.ts';
import { sealLine, unsealLine } from './line.ts';

const CHUNK = 1 << 20;
const LINE_GUESS = 4096;

/**
 * Imported rows in one append-only file, a sealed line each; a row's position is the offset of its line. Only the bytes before `end` count:
 * the end is committed through the journal after the bytes are durable, and what lies behind it is overwritten by the next rows.
 */
export class RowFile implements RowLog {
  readonly #path: string;
  readonly #files: Files;
  #file: WritableFile | undefined;
  /** Committed and durable; readers see no further. */
  #end: number;

  constructor(folder: string, files: Files, end: number) {
    this.#path = join(folder, ROWS);
    this.#files = files;
    this.#end = end;
  }

  get end(): number {
    return this.#end;
  }

  /** Makes the rows durable behind the end and returns the end that would take them in. */
  async write(rows: readonly NewLoggedRow[]): Promise<number> {
    const lines = rows.map((row) => sealLine(row.type, JSON.stringify([row.at, row.row]), 0).text);
    const bytes = Buffer.from(lines.join(''));
    const isNew = this.#file === undefined;
    this.#file ??= await this.#files.open(this.#path);
    await writeAll(this.#file, bytes, this.#end);
    await this.#file.sync();
    if (isNew) await this.#files.syncFolder(join(this.#path, '..'));
    return this.#end + bytes.length;
  }

  /** The rows that `write` made durable belong to the log from now on. */
  commit(end: number): void {
    this.#end = end;
  }

  async read(from: number, limit: number): Promise<readonly LoggedRow[]> {
    if (from >= this.#end) return [];
    const file = await open(this.#path, 'r');
    try {
      const rows: LoggedRow[] = [];
      let position = from;
      for (let size = CHUNK; rows.length < limit && position < this.#end; ) {
        const chunk = await readAt(file, position, Math.min(size, this.#end - position));
        const before = position;
        position = this.#rowsIn(chunk, position, limit, rows);
        // A line longer than the chunk needs a longer one, unless the file ends in it.
        if (position === before && chunk.length < size) throw this.#cutShort(position);
        size = position === before ? size * 2 : CHUNK;
      }
      return rows;
    } finally {
      await file.close();
    }
  }

  async get(positions: readonly number[]): Promise<readonly LoggedRow[]> {
    if (positions.length === 0) return [];
    const file = await open(this.#path, 'r');
    try {
      const rows: LoggedRow[] = [];
      for (const position of positions) {
        for (let size = LINE_GUESS; ; size *= 2) {
          const chunk = await readAt(file, position, Math.min(size, this.#end - position));
          if (this.#rowsIn(chunk, position, rows.length + 1, rows) > position) break;
          if (chunk.length < size) throw this.#cutShort(position);
        }
      }
      return rows;
    } finally {
      await file.close();
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  /** Adds the whole lines of the chunk until there are `limit` rows; returns where the next one starts. */
  #rowsIn(chunk: Buffer, start: number, limit: number, rows: LoggedRow[]): number {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0 && rows.length < limit; end = chunk.indexOf(10, from)) {
      const sealed = unsealLine(chunk.subarray(from, end + 1), 0);
      if (!sealed) throw damaged(`${this.#path}, offset ${start + from}`, 'the checksum does not fit the content');
      // Written by `write`; the checksum says that nothing changed since.
      const [at, row] = JSON.parse(sealed.json) as [string, LoggedRow['row']];
      rows.push({ position: start + from, next: start + end + 1, type: sealed.label, at, row });
      from = end + 1;
    }
    return start + from;
  }

  #cutShort(position: number): Error {
    return damaged(`${this.#path}, offset ${position}`, 'the file ends before the rows that were committed');
  }
}

async function readAt(file: Awaited<ReturnType<typeof open>>, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
