import { open } from 'node:fs/promises';
import { type Files, type WritableFile, writeAll } from '../files/files.ts';
import { rowsPath } from '../files/folder.ts';
import {
  positionOf,
  type RowExtent,
  type RowLine,
  type RowMark,
  type RowState,
  remember,
  resealRow,
} from './row-lines.ts';

const CHUNK = 1 << 20;

/** The file of rows that is to replace another. It does not count until its extent is committed. */
export class RowRewrite {
  readonly #files: Files;
  readonly #folder: string;
  /** The rows that are copied line by line. Later rows are copied as they are. */
  readonly #source: RowExtent;
  readonly #file: WritableFile;
  readonly #marks: RowMark[] = [];
  #size = 0;

  private constructor(folder: string, files: Files, source: RowExtent, file: WritableFile) {
    this.#folder = folder;
    this.#files = files;
    this.#source = source;
    this.#file = file;
  }

  static async begin(folder: string, files: Files, source: RowExtent): Promise<RowRewrite> {
    const file = await files.open(rowsPath(folder, source.file + 1));
    // An earlier attempt may have left a file of this name.
    await file.truncate(0);
    return new RowRewrite(folder, files, source, file);
  }

  /** Copies all lines except those at the positions. Returns how many it left out. Others may write meanwhile. */
  async copy(
    chunks: AsyncIterable<readonly RowLine[]>,
    positions: ReadonlySet<number>,
    onChunk: () => void,
  ): Promise<number> {
    const path = rowsPath(this.#folder, this.#source.file);
    let left = 0;
    for await (const lines of chunks) {
      onChunk();
      const copies: Buffer[] = [];
      let offset = this.#size;
      for (const line of lines) {
        const position = positionOf(line, this.#source.shift);
        if (positions.has(position)) {
          left += 1;
          continue;
        }
        const copy = Buffer.from(resealRow(line, this.#source, path));
        remember(this.#marks, { position, offset });
        offset += copy.length;
        copies.push(copy);
      }
      await this.#append(Buffer.concat(copies));
    }
    await this.#file.sync();
    return left;
  }

  /** Copies the rows that were committed meanwhile. Nobody may write while it runs. Its result can be committed. */
  async finish(end: number): Promise<RowState> {
    const head = this.#size;
    const source = await open(rowsPath(this.#folder, this.#source.file), 'r');
    try {
      for (let from = this.#source.end; from < end; ) {
        const length = Math.min(CHUNK, end - from);
        const { buffer, bytesRead } = await source.read(Buffer.allocUnsafe(length), 0, length, from);
        if (bytesRead === 0) throw new Error('the rows end before they should');
        await this.#append(buffer.subarray(0, bytesRead));
        from += bytesRead;
      }
    } finally {
      await source.close();
    }
    await this.#file.sync();
    await this.#file.close();
    await this.#files.syncFolder(this.#folder);
    const extent = {
      file: this.#source.file + 1,
      end: this.#size,
      head,
      shift: this.#source.end + this.#source.shift - head,
    };
    return { extent, marks: this.#marks };
  }

  /** Removes the file where the work fails. Not to be used once an extent of the file was given to the journal. */
  async orDiscarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  /** Removes the file. Where that fails, the next attempt or start removes it. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => {});
    await this.#files.remove(rowsPath(this.#folder, this.#source.file + 1)).catch(() => {});
  }

  async #append(bytes: Uint8Array): Promise<void> {
    await writeAll(this.#file, bytes, this.#size);
    this.#size += bytes.length;
  }
}
