import { CHUNK, Chunk } from './chunk.ts';

/** No row. */
export const NONE = -1;

type NumberOf = (row: number) => number;
const MIN = Number.NEGATIVE_INFINITY;

export interface Neighbours {
  readonly before: number;
  readonly after: number;
}

/**
 * Rows sorted by two numbers each, in chunks. Inserting or removing a row anywhere takes about a microsecond. Rows with equal numbers are
 * sorted by row number. The numbers of a row must not change while it is in.
 */
export class OrderedRows<Summary = never> {
  readonly #chunks: Chunk<Summary>[] = [];
  /** The major number of the last row of each chunk. */
  readonly #lasts: number[] = [];
  readonly #major: NumberOf;
  readonly #minor: NumberOf;
  readonly #hasValues: boolean;
  /** Where the last search ended: the index of a chunk, or the number of chunks, and a place in the chunk. */
  #at = 0;
  #place = 0;

  constructor(major: NumberOf, minor: NumberOf = () => 0, hasValues = false) {
    this.#major = major;
    this.#minor = minor;
    this.#hasValues = hasValues;
  }

  insert(row: number, value = 0): void {
    this.#find(row);
    if (this.#at === this.#chunks.length) this.#toEnd();
    let chunk = this.#chunks[this.#at] ?? this.#add(0, new Chunk(8, this.#hasValues));
    if (chunk.size === CHUNK) chunk = this.#halve(chunk);
    chunk.insert(this.#place, row, value);
    if (this.#place === chunk.size - 1) this.#lasts[this.#at] = this.#major(row);
    this.changed(chunk);
  }

  /** Inserts a row, and returns the rows right before and after it. */
  insertBetween(row: number): Neighbours {
    this.insert(row);
    return this.#neighbours();
  }

  delete(row: number): void {
    const chunk = this.chunkWith(row);
    if (!chunk) return;
    chunk.remove(this.#place);
    this.changed(chunk);
    if (chunk.size > 0) {
      this.#lasts[this.#at] = this.#major(chunk.last);
      return;
    }
    this.#chunks.splice(this.#at, 1);
    this.#lasts.splice(this.#at, 1);
  }

  /** The row must be in and have a value. */
  setValue(row: number, value: number): void {
    const chunk = this.chunkWith(row);
    if (!chunk) return;
    chunk.values[this.#place] = value;
    this.changed(chunk);
  }

  /** The rows right before and after a row that is in. */
  around(row: number): Neighbours {
    this.#find(row);
    return this.#neighbours();
  }

  /** The first row whose numbers are not smaller, or NONE. */
  first(major: number, minor = MIN): number {
    this.#seek(major, minor, NONE);
    return this.#chunks[this.#at]?.rows[this.#place] ?? NONE;
  }

  /** The number of rows with this major number and a minor number in [from, to). */
  count(major: number, from: number, to: number): number {
    this.#seek(major, from, NONE);
    const [first, start] = [this.#at, this.#place];
    this.#seek(major, to, NONE);
    let count = this.#place - start;
    for (let at = first; at < this.#at; at += 1) count += this.#chunks[at]?.size ?? 0;
    return count;
  }

  /** Upwards from the first row whose numbers are not smaller. */
  *ascending(major: number, minor = MIN): Generator<number, void> {
    this.#seek(major, minor, NONE);
    let [at, place] = [this.#at, this.#place];
    for (let chunk = this.#chunks[at]; chunk; chunk = this.#chunks[at]) {
      for (; place < chunk.size; place += 1) yield chunk.rows[place] ?? NONE;
      [at, place] = [at + 1, 0];
    }
  }

  /** Downwards from the last row whose numbers are smaller. */
  *descending(major: number, minor = MIN): Generator<number, void> {
    this.#seek(major, minor, NONE);
    let [at, place] = [this.#at, this.#place];
    for (;;) {
      const chunk = this.#chunks[at];
      for (place -= 1; chunk && place >= 0; place -= 1) yield chunk.rows[place] ?? NONE;
      at -= 1;
      if (at < 0) return;
      place = this.#chunks[at]?.size ?? 0;
    }
  }

  /** Calls `visit` for each chunk with rows whose major numbers are in [from, to): these are the rows from `low` to before `high`. */
  eachChunk(from: number, to: number, visit: (chunk: Chunk<Summary>, low: number, high: number) => void): void {
    this.#seek(from, MIN, NONE);
    const [first, start] = [this.#at, this.#place];
    this.#seek(to, MIN, NONE);
    const [last, end] = [this.#at, this.#place];
    for (let at = first; at <= last; at += 1) {
      const chunk = this.#chunks[at];
      if (!chunk) return;
      const [low, high] = [at === first ? start : 0, at === last ? end : chunk.size];
      if (low < high) visit(chunk, low, high);
    }
  }

  /** The chunk that contains the row. */
  protected chunkWith(row: number): Chunk<Summary> | undefined {
    this.#find(row);
    const chunk = this.#chunks[this.#at];
    return chunk?.rows[this.#place] === row ? chunk : undefined;
  }

  /** Called when a row of the chunk was added, removed or got another value. */
  protected changed(_chunk: Chunk<Summary>): void {}

  /** Moves to the place where the row is or would be. */
  #find(row: number): void {
    this.#seek(this.#major(row), this.#minor(row), row);
  }

  /** Moves to the first row that is not before the numbers. */
  #seek(major: number, minor: number, row: number): void {
    const lasts = this.#lasts;
    let low = 0;
    let high = lasts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const last = lasts[middle] ?? 0;
      if (last < major || (last === major && this.#isTiedBefore(this.#chunks[middle]?.last ?? 0, minor, row)))
        low = middle + 1;
      else high = middle;
    }
    this.#at = low;
    this.#place = 0;
    const chunk = this.#chunks[low];
    if (!chunk) return;
    const { rows } = chunk;
    low = 0;
    high = chunk.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = rows[middle] ?? 0;
      const own = this.#major(other);
      if (own < major || (own === major && this.#isTiedBefore(other, minor, row))) low = middle + 1;
      else high = middle;
    }
    this.#place = low;
  }

  #isTiedBefore(other: number, minor: number, row: number): boolean {
    const own = this.#minor(other);
    return own < minor || (own === minor && other < row);
  }

  #toEnd(): void {
    this.#at = Math.max(0, this.#chunks.length - 1);
    this.#place = this.#chunks[this.#at]?.size ?? 0;
  }

  /** The neighbours of the row where the last search ended. */
  #neighbours(): Neighbours {
    const chunk = this.#chunks[this.#at];
    const next = this.#place + 1;
    const before = this.#place > 0 ? chunk?.rows[this.#place - 1] : this.#chunks[this.#at - 1]?.last;
    const after = chunk && next < chunk.size ? chunk.rows[next] : this.#chunks[this.#at + 1]?.rows[0];
    return { before: before ?? NONE, after: after ?? NONE };
  }

  #add(at: number, chunk: Chunk<Summary>): Chunk<Summary> {
    this.#chunks.splice(at, 0, chunk);
    this.#lasts.splice(at, 0, chunk.size > 0 ? this.#major(chunk.last) : MIN);
    return chunk;
  }

  /** Makes space in a full chunk. Returns the half that contains the place. */
  #halve(chunk: Chunk<Summary>): Chunk<Summary> {
    // When rows are added at the end, a new chunk leaves the earlier ones full.
    const left = this.#place === CHUNK && this.#at === this.#chunks.length - 1 ? CHUNK : CHUNK / 2;
    const right = this.#add(this.#at + 1, chunk.split(left));
    this.#lasts[this.#at] = this.#major(chunk.last);
    this.changed(chunk);
    this.changed(right);
    if (this.#place < left) return chunk;
    this.#at += 1;
    this.#place -= left;
    return right;
  }
}
