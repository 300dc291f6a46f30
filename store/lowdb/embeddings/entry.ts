import { crc32 } from 'node:zlib';
import type { StoredEmbedding } from '../../embeddings-port.ts';

/** Bytes before the body of an entry: its length, and its checksum. */
export const HEADER = 8;
/** Longer lengths are no lengths: the vectors of the longest text take a few MB. */
const LONGEST = 256 * 1024 * 1024;

/** Header, length of the names, names as JSON, parts. */
export function packEntry({ parts, ...names }: StoredEmbedding): Buffer {
  const named = Buffer.from(JSON.stringify([names.model, names.collection, names.id, names.state]));
  const entry = Buffer.alloc(HEADER + 4 + named.length + parts.length);
  entry.writeUInt32LE(4 + named.length + parts.length, 0);
  entry.writeUInt32LE(named.length, HEADER);
  entry.set(named, HEADER + 4);
  entry.set(parts, HEADER + 4 + named.length);
  entry.writeUInt32LE(crc32(entry.subarray(HEADER)), 4);
  return entry;
}

/** The length of the body by its header, undefined if there is none. */
export function lengthIn(header: Buffer): number | undefined {
  const length = header.length < HEADER ? 0 : header.readUInt32LE(0);
  return length < 4 || length > LONGEST ? undefined : length;
}

/** Undefined where it was removed or is damaged. */
export function unpackEntry(entry: Buffer): StoredEmbedding | undefined {
  const body = entry.subarray(HEADER);
  if (crc32(body) !== entry.readUInt32LE(4)) return undefined;
  const end = 4 + body.readUInt32LE(0);
  const [model, collection, id, state] = JSON.parse(body.toString('utf8', 4, end)) as [string, string, string, string]; // `packEntry` made it
  return { model, collection, id, state, parts: new Uint8Array(body.subarray(end)) };
}
