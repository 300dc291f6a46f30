import { closeSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * A line is `<crc> <label> <json>`. The CRC-32 in 8 hex digits covers the rest of the line, and the line before where lines are chained.
 */
export interface SealedLine {
  readonly label: string;
  readonly json: string;
  readonly crc: number;
}

export const hex = (crc: number): string => crc.toString(16).padStart(8, '0');

/** The line with its line break, and its checksum. Where lines are chained, the checksum is the seed for the next line. */
export function sealLine(label: string, json: string, seed: number): { text: string; crc: number } {
  const content = ` ${label} ${json}\n`;
  const crc = crc32(content, seed);
  return { text: hex(crc) + content, crc };
}

/** `bytes` is a line with its line break. Undefined when it is not as it was written. */
export function unsealLine(bytes: Buffer, seed: number): SealedLine | undefined {
  const content = bytes.subarray(8);
  const crc = crc32(content, seed);
  if (bytes.toString('latin1', 0, 8) !== hex(crc) || bytes[8] !== 0x20) return undefined;
  const gap = bytes.indexOf(0x20, 9);
  if (gap < 0) return undefined;
  return { label: bytes.toString('latin1', 9, gap), json: bytes.toString('utf8', gap + 1, bytes.length - 1), crc };
}

export interface FileLine {
  /** The bytes of the line with its line break. The last line of a file may lack one. */
  readonly bytes: Buffer;
  readonly number: number;
  readonly offset: number;
  readonly complete: boolean;
}

/** A place after a line break or at the start of the file: its offset, and the number of lines before it. */
export interface LineBreak {
  readonly offset: number;
  readonly number: number;
}

const CHUNK = 1 << 20;

export function* readLines(path: string, from: LineBreak = { offset: 0, number: 0 }): Generator<FileLine, void> {
  const file = openSync(path, 'r');
  try {
    let rest: Buffer = Buffer.alloc(0);
    let { offset, number } = from;
    const chunk = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const length = readSync(file, chunk, 0, CHUNK, offset + rest.length);
      if (length === 0) break;
      let data = Buffer.concat([rest, chunk.subarray(0, length)]);
      let from = rest.length;
      for (let end = data.indexOf(10, from); end >= 0; end = data.indexOf(10, from)) {
        number += 1;
        yield { bytes: data.subarray(0, end + 1), number, offset, complete: true };
        offset += end + 1;
        data = data.subarray(end + 1);
        from = 0;
      }
      rest = data;
    }
    if (rest.length > 0) yield { bytes: rest, number: number + 1, offset, complete: false };
  } finally {
    closeSync(file);
  }
}
