import { hash } from 'node:crypto';

/** 128 bits of a hash. No two texts in a store have the same. */
interface Digest {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly d: number;
}

export function digestOf(text: string): Digest {
  const bytes = hash('sha256', text, 'binary');
  return { a: wordOf(bytes, 0), b: wordOf(bytes, 4), c: wordOf(bytes, 8), d: wordOf(bytes, 12) };
}

function wordOf(bytes: string, at: number): number {
  return (
    bytes.charCodeAt(at) |
    (bytes.charCodeAt(at + 1) << 8) |
    (bytes.charCodeAt(at + 2) << 16) |
    (bytes.charCodeAt(at + 3) << 24)
  );
}

/** Finds a row by its natural key. Each key takes 28 bytes: 128 bits of a hash for the key, and 64 for the content. */
export class KeyTable {
  /** Many small tables, so that none takes long to grow. */
  readonly #parts = Array.from({ length: 256 }, () => new Part());

  /** The number of the row, or undefined. */
  find(digest: Digest): number | undefined {
    return this.#partOf(digest).find(digest);
  }

  /** Forgets the keys of these rows. */
  forget(rows: ReadonlySet<number>): void {
    for (const part of this.#parts) part.forget(rows);
  }

  set(digest: Digest, row: number, content: Digest): void {
    this.#partOf(digest).set(digest, row, content);
  }

  /** Whether the row was last set with this content. */
  holds(digest: Digest, content: Digest): boolean {
    return this.#partOf(digest).holds(digest, content);
  }

  #partOf({ d }: Digest): Part {
    // There are 256 parts.
    return this.#parts[d & 255] as Part;
  }
}

/** Words of an entry: four for the key, one for the row, two for the content. */
const WORDS = 7;

/** Marks a key that has no row any more. */
const GONE = -1;

/** A hash table with open addressing. Keys are never removed, but their rows can be. */
class Part {
  #slots = new Int32Array(WORDS * 8);
  #size = 0;

  find(digest: Digest): number | undefined {
    const row = this.#slots[this.#slot(digest) + 4];
    return row && row !== GONE ? row - 1 : undefined;
  }

  forget(rows: ReadonlySet<number>): void {
    for (let at = 4; at < this.#slots.length; at += WORDS) {
      const row = this.#slots[at];
      if (row && rows.has(row - 1)) this.#slots[at] = GONE;
    }
  }

  set(digest: Digest, row: number, content: Digest): void {
    const at = this.#slot(digest);
    if (!this.#slots[at + 4]) this.#size += 1;
    this.#slots[at] = digest.a;
    this.#slots[at + 1] = digest.b;
    this.#slots[at + 2] = digest.c;
    this.#slots[at + 3] = digest.d;
    this.#slots[at + 4] = row + 1;
    this.#slots[at + 5] = content.a;
    this.#slots[at + 6] = content.b;
    if (this.#size * WORDS * 1.6 > this.#slots.length) this.#grow();
  }

  holds(digest: Digest, content: Digest): boolean {
    const at = this.#slot(digest);
    return this.#slots[at + 4] !== 0 && this.#slots[at + 5] === content.a && this.#slots[at + 6] === content.b;
  }

  /** The slot of the key, or the free slot for it. */
  #slot({ a, b, c, d }: Digest): number {
    const slots = this.#slots;
    const places = slots.length / WORDS;
    let place = (a >>> 0) % places;
    for (;;) {
      const at = place * WORDS;
      if (!slots[at + 4]) return at;
      if (slots[at] === a && slots[at + 1] === b && slots[at + 2] === c && slots[at + 3] === d) return at;
      place = place + 1 === places ? 0 : place + 1;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(Math.ceil((old.length / WORDS) * 1.8) * WORDS);
    for (let from = 0; from < old.length; from += WORDS) {
      if (!old[from + 4]) continue;
      const [a = 0, b = 0, c = 0, d = 0] = [old[from], old[from + 1], old[from + 2], old[from + 3]];
      const at = this.#slot({ a, b, c, d });
      for (let word = 0; word < WORDS; word += 1) this.#slots[at + word] = old[from + word] ?? 0;
    }
  }
}
