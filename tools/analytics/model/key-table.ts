import { hash } from 'node:crypto';

/** Stands for the row of a key that has none any more. */
const GONE = 0xffffffff;
/** Four for the key, one for the row, two for the content. */
const WORDS = 7;

/**
 * Finds a row by its natural key in 28 bytes a key: 128 bits of a hash stand for the key, and 64 for the content.
 * Open addressing: keys are never removed, but their row can be.
 */
export class KeyTable {
  #slots = new Uint32Array(WORDS * 1024);
  #size = 0;

  /** Number of the row, or undefined. */
  find(digest: Digest): number | undefined {
    const row = this.#slots[this.#slot(this.#slots, digest) + 4];
    return row && row !== GONE ? row - 1 : undefined;
  }

  /** The keys of these rows are unknown from now on. */
  forget(rows: ReadonlySet<number>): void {
    for (let at = 4; at < this.#slots.length; at += WORDS) {
      const row = this.#slots[at];
      if (row && rows.has(row - 1)) this.#slots[at] = GONE;
    }
  }

  set(digest: Digest, row: number, content: Digest): void {
    const at = this.#slot(this.#slots, digest);
    if (!this.#slots[at + 4]) this.#size += 1;
    write(this.#slots, at, digest, row + 1, content);
    if (this.#size * WORDS * 1.6 > this.#slots.length) this.#grow();
  }

  /** Whether the row was last set with this content. */
  holds(digest: Digest, content: Digest): boolean {
    const at = this.#slot(this.#slots, digest);
    return this.#slots[at + 4] !== 0 && this.#slots[at + 5] === content[0] && this.#slots[at + 6] === content[1];
  }

  #slot(slots: Uint32Array, digest: Digest): number {
    const places = slots.length / WORDS;
    let place = (digest[0] ?? 0) % places;
    for (;;) {
      const at = place * WORDS;
      if (!slots[at + 4]) return at;
      if (
        slots[at] === digest[0] &&
        slots[at + 1] === digest[1] &&
        slots[at + 2] === digest[2] &&
        slots[at + 3] === digest[3]
      )
        return at;
      place = place + 1 === places ? 0 : place + 1;
    }
  }

  #grow(): void {
    const slots = new Uint32Array(Math.ceil((this.#slots.length / WORDS) * 1.8) * WORDS);
    for (let from = 0; from < this.#slots.length; from += WORDS) {
      const entry = this.#slots.subarray(from, from + WORDS);
      if (entry[4]) slots.set(entry, this.#slot(slots, entry));
    }
    this.#slots = slots;
  }
}

export type Digest = Uint32Array;

/** 128 bits, which no two keys or contents in one store share. */
export function digestOf(text: string): Digest {
  const bytes = Buffer.from(hash('sha256', text, 'hex').slice(0, 32), 'hex');
  return Uint32Array.from([
    bytes.readUInt32LE(0),
    bytes.readUInt32LE(4),
    bytes.readUInt32LE(8),
    bytes.readUInt32LE(12),
  ]);
}

function write(slots: Uint32Array, at: number, digest: Digest, row: number, content: Digest): void {
  slots.set(digest.subarray(0, 4), at);
  slots[at + 4] = row;
  slots.set(content.subarray(0, 2), at + 5);
}
