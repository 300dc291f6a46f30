import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { damaged } from '../files/folder.ts';
import { unsealLine } from '../journal/line.ts';

/** A row as earlier versions logged it. */
interface LoggedRow {
  /** The type of the row, or `purge` where it removes a user. */
  readonly type: string;
  /** When the row was imported, ISO 8601. */
  readonly at: string;
  readonly row: Readonly<Record<string, unknown>>;
}

const CHUNK = 1 << 20;

/** The log in which earlier versions kept imported rows: one sealed line each, in the order in which they came. `end` bytes of it count. */
export class RowLog {
  readonly path: string;
  readonly end: number;

  /** @throws StoreDamaged */
  constructor(path: string, end: number) {
    this.path = path;
    this.end = end;
    const size = existsSync(path) ? statSync(path).size : 0;
    if (size < end) throw damaged(path, `the file ends before the rows that were committed (${size} of ${end} bytes)`);
  }

  /** All rows, oldest first, some at a time, each with the offset behind it. @throws StoreDamaged */
  async *read(): AsyncGenerator<{ readonly rows: readonly LoggedRow[]; readonly offset: number }, void> {
    if (this.end === 0) return;
    const file = await open(this.path, 'r');
    try {
      for await (const { lines, offset } of this.#lines(file)) {
        yield { rows: lines.map((line) => this.#rowOf(line, offset)), offset };
      }
    } finally {
      await file.close();
    }
  }

  async *#lines(
    file: FileHandle,
  ): AsyncGenerator<{ readonly lines: readonly Buffer[]; readonly offset: number }, void> {
    for (let offset = 0, wanted = CHUNK; offset < this.end; ) {
      const length = Math.min(wanted, this.end - offset);
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
      const lines = linesIn(buffer.subarray(0, bytesRead));
      // A line longer than the chunk needs a larger chunk.
      wanted = lines.length > 0 ? CHUNK : wanted * 2;
      if (lines.length === 0 && bytesRead < length) throw damaged(this.path, 'the file ends too early');
      offset += lines.reduce((sum, line) => sum + line.length, 0);
      if (lines.length > 0) yield { lines, offset };
    }
  }

  #rowOf(line: Buffer, offset: number): LoggedRow {
    const sealed = unsealLine(line, 0);
    if (!sealed) throw damaged(`${this.path}, before offset ${offset}`, 'the checksum does not fit the content');
    // The checksum proves that it is as it was written.
    const [at, row] = JSON.parse(sealed.json) as [string, LoggedRow['row']];
    return { type: sealed.label.split('@')[0] ?? '', at, row };
  }
}

/** The lines with their line breaks. */
function linesIn(chunk: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let from = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
    lines.push(chunk.subarray(from, at + 1));
    from = at + 1;
  }
  return lines;
}
