import { crc32 } from 'node:zlib';
import { hex } from '../journal/line.ts';

const SMALLEST = 64 * 1024;
/** With nothing in it, a larger one is given back. */
const LARGEST_IDLE = 1024 * 1024;
const CRC = 8;

/**
 * Sealed lines on their way to a file, as the bytes that it will hold. They are many and soon gone; outside the heap they cost the
 * garbage collector nothing.
 */
export class LineBuffer {
  #bytes = Buffer.allocUnsafeSlow(SMALLEST);
  #length = 0;

  /** Adds what `sealLine` makes of it with no line before. Returns its length in bytes. */
  add(label: string, json: string): number {
    const start = this.#length;
    this.#makeRoom(start + CRC + label.length + 3 * (json.length + 1));
    const end = start + CRC + this.#bytes.write(` ${label} ${json}\n`, start + CRC);
    this.#bytes.write(hex(crc32(this.#bytes.subarray(start + CRC, end))), start, 'latin1');
    this.#length = end;
    return end - start;
  }

  /** The bytes at this place, counted from the first line that is still here. They stay as they are until lines are dropped. */
  slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(from, to);
  }

  /** Forgets so many bytes from the first line on. */
  drop(length: number): void {
    this.#bytes.copyWithin(0, length, this.#length);
    this.#length -= length;
    if (this.#length === 0 && this.#bytes.length > LARGEST_IDLE) this.#bytes = Buffer.allocUnsafeSlow(SMALLEST);
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
