import type { FileHandle } from 'node:fs/promises';
import type { LoggedRow, NewLoggedRow } from '../../port.ts';
import { damaged } from '../files/folder.ts';
import { sealLine, unsealLine } from '../journal/line.ts';

/** What a committed record says about the file of rows. */
export interface RowExtent {
  /** Number of the file. Dropping rows makes a file with a new number. */
  readonly file: number;
  /** How many bytes of the file count. */
  readonly end: number;
  /** How many bytes at the start have lines that name their positions. For the lines behind them, a position is the offset plus `shift`. */
  readonly head: number;
  readonly shift: number;
}

/** The place of a row in the head. */
export interface RowMark {
  readonly position: number;
  readonly offset: number;
}

/** The committed part of a file of rows, and some places in its head, in order. */
export interface RowState {
  readonly extent: RowExtent;
  readonly marks: RowMark[];
}

/** The smallest distance in bytes between two marks of the head. */
export const MARK = 64 * 1024;

/** A line with its line break. */
export interface RowLine {
  readonly bytes: Buffer;
  readonly offset: number;
}

/** The lowest position that is greater than those of all rows in the head. */
export function headEnd({ head, shift }: RowExtent): number {
  return head + shift;
}

export function remember(marks: RowMark[], mark: RowMark): void {
  const last = marks.at(-1);
  if (!last || mark.offset >= last.offset + MARK) marks.push(mark);
}

export function sealRow({ type, at, row }: NewLoggedRow): string {
  return sealLine(type, JSON.stringify([at, row]), 0).text;
}

/** The same line in the form of the head; its content does not change. @throws StoreDamaged */
export function resealRow(line: RowLine, { shift }: RowExtent, path: string): string {
  const { type, position, json } = unsealed(line, shift, path);
  return sealLine(`${type}@${position}`, json, 0).text;
}

/** @throws StoreDamaged */
export function readRow(line: RowLine, extent: RowExtent, path: string): LoggedRow {
  const { type, position, json } = unsealed(line, extent.shift, path);
  // `sealRow` wrote the line; the checksum proves that nothing has changed since.
  const [at, row] = JSON.parse(json) as [string, LoggedRow['row']];
  return { position, next: position + (line.offset < extent.head ? 1 : line.bytes.length), type, at, row };
}

/** The position of a line, without checking the line. */
export function positionOf({ bytes, offset }: RowLine, shift: number): number {
  const named = bytes.toString('latin1', 9, bytes.indexOf(0x20, 9)).split('@')[1];
  return named === undefined ? offset + shift : Number(named);
}

function unsealed({ bytes, offset }: RowLine, shift: number, path: string) {
  const sealed = unsealLine(bytes, 0);
  if (!sealed) throw damaged(`${path}, offset ${offset}`, 'the checksum does not fit the content');
  const [type = '', position] = sealed.label.split('@');
  return { type, position: position === undefined ? offset + shift : Number(position), json: sealed.json };
}

/** The lines from an offset on. Each time it gives as many lines as `size` bytes hold, at least one. @throws StoreDamaged */
export async function* rowLines(
  file: FileHandle,
  { from, end, size, path }: { from: number; end: number; size: number; path: string },
): AsyncGenerator<RowLine[], void> {
  let offset = from;
  for (let wanted = size; offset < end; ) {
    const length = Math.min(wanted, end - offset);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
    const lines = linesIn(buffer.subarray(0, bytesRead), offset);
    const last = lines.at(-1);
    if (last) {
      offset = last.offset + last.bytes.length;
      wanted = size;
      yield lines;
      continue;
    }
    if (bytesRead < wanted)
      throw damaged(`${path}, offset ${offset}`, 'the file ends before the rows that were committed');
    // A line longer than the chunk needs a larger chunk.
    wanted *= 2;
  }
}

function linesIn(chunk: Buffer, offset: number): RowLine[] {
  const lines: RowLine[] = [];
  let from = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
    lines.push({ bytes: chunk.subarray(from, at + 1), offset: offset + from });
    from = at + 1;
  }
  return lines;
}
