import { hash } from 'node:crypto';

/** A vector of length 1 in 8 bits for each number, which changes a cosine by less than 0.001. */
export interface Vector {
  /** Each number is its code times this. 0 where the text has no vector. */
  readonly scale: number;
  readonly codes: Int8Array;
}

export interface Part extends Vector {
  readonly hash: string;
}

const HASH_BYTES = 16;
const DIGITS = 127;

export function hashOf(text: string): string {
  return hash('sha256', text, 'buffer').toString('base64url', 0, HASH_BYTES);
}

export function vectorOf(numbers: ArrayLike<number>): Vector {
  const vector = { scale: 0, codes: new Int8Array(numbers.length) };
  let largest = 0;
  for (let at = 0; at < numbers.length; at += 1) largest = Math.max(largest, Math.abs(numbers[at] ?? 0));
  if (largest === 0) return vector;
  let squares = 0;
  for (let at = 0; at < numbers.length; at += 1) {
    const share = (numbers[at] ?? 0) / largest;
    squares += share * share;
    vector.codes[at] = Math.round(share * DIGITS);
  }
  return { ...vector, scale: 1 / DIGITS / Math.sqrt(squares) };
}

/** The vector between two. */
export function between(one: Vector, other: Vector): Vector {
  const sums = new Float64Array(one.codes.length);
  for (let at = 0; at < sums.length; at += 1)
    sums[at] = (one.codes[at] ?? 0) * one.scale + (other.codes[at] ?? 0) * other.scale;
  return vectorOf(sums);
}

export function noVector(numbers: number): Vector {
  return { scale: 0, codes: new Int8Array(numbers) };
}

export function cosine(one: Vector, other: Vector): number {
  let product = 0;
  for (const [at, code] of one.codes.entries()) product += code * (other.codes[at] ?? 0);
  return product * one.scale * other.scale;
}

/** How many numbers a vector has, then for each part its hash, scale and codes. */
export function packParts(parts: readonly Part[]): Uint8Array {
  const width = parts[0]?.codes.length ?? 0;
  const packed = Buffer.alloc(4 + parts.length * (HASH_BYTES + 4 + width));
  packed.writeUInt32LE(width, 0);
  let at = 4;
  for (const { hash: text, scale, codes } of parts) {
    packed.write(text, at, 'base64url');
    packed.writeFloatLE(scale, at + HASH_BYTES);
    packed.set(new Uint8Array(codes.buffer, codes.byteOffset, width), at + HASH_BYTES + 4);
    at += HASH_BYTES + 4 + width;
  }
  return packed;
}

export function unpackParts(packed: Uint8Array): Part[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const width = bytes.readUInt32LE(0);
  const parts: Part[] = [];
  for (let at = 4; at + HASH_BYTES + 4 + width <= bytes.length; at += HASH_BYTES + 4 + width) {
    parts.push({
      hash: bytes.toString('base64url', at, at + HASH_BYTES),
      scale: bytes.readFloatLE(at + HASH_BYTES),
      codes: new Int8Array(bytes.subarray(at + HASH_BYTES + 4, at + HASH_BYTES + 4 + width)),
    });
  }
  return parts;
}
