import { crc32 } from 'node:zlib';

const SMALLEST = 64 * 1024;
const LARGEST_IDLE = 1024 * 1024;
const CRC = 8;
const DIGITS = Buffer.from('0123456789abcdef', 'latin1');

/** Sealed lines that wait to be written, outside the heap: many and short-lived, they would occupy the garbage collector. */
export class LineBuffer {
  #bytes = Buffer.allocUnsafeSlow(SMALLEST);
  #length = 0;

  /** Adds the line that `sealLine` makes with no line before it. Returns its length in bytes. */
  add(label: string, json: string): number {
    const start = this.#length;
    this.#makeRoom(start + CRC + label.length + 3 * (json.length + 1));
    const end = start + CRC + this.#bytes.write(` ${label} ${json}\n`, start + CRC);
    this.#writeHex(crc32(this.#bytes.subarray(start + CRC, end)), start);
    this.#length = end;
    return end - start;
  }

  /** The bytes at this place, counted from the first line that is still here. They do not change until lines are dropped. */
  slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(from, to);
  }

  drop(length: number): void {
    this.#bytes.copyWithin(0, length, this.#length);
    this.#length -= length;
    if (this.#length === 0 && this.#bytes.length > LARGEST_IDLE) this.#bytes = Buffer.allocUnsafeSlow(SMALLEST);
  }

  #writeHex(crc: number, start: number): void {
    for (let at = start + CRC - 1, rest = crc; at >= start; at -= 1, rest >>>= 4) {
      this.#bytes[at] = DIGITS[rest & 15] ?? 0;
    }
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
