/** The largest number of rows in a chunk. */
export const CHUNK = 256;

/** Consecutive rows, in order. */
export class Chunk<Summary> {
  rows: Uint32Array;
  /** One number for each row. Empty where rows have no values. */
  values: Float64Array;
  size = 0;
  /** A summary of all rows. Removed when something about one of them changes. */
  summary: Summary | undefined;

  constructor(capacity: number, hasValues: boolean) {
    this.rows = new Uint32Array(capacity);
    this.values = new Float64Array(hasValues ? capacity : 0);
  }

  get last(): number {
    return this.rows[this.size - 1] ?? 0;
  }

  insert(place: number, row: number, value: number): void {
    if (this.size === this.rows.length) this.#grow();
    const { rows, values, size } = this;
    rows.copyWithin(place + 1, place, size);
    rows[place] = row;
    if (values.length > 0) {
      values.copyWithin(place + 1, place, size);
      values[place] = value;
    }
    this.size += 1;
  }

  remove(place: number): void {
    this.rows.copyWithin(place, place + 1, this.size);
    this.values.copyWithin(place, place + 1, this.size);
    this.size -= 1;
  }

  /** Keeps the first `left` rows and returns a chunk with the others. */
  split(left: number): Chunk<Summary> {
    const right = new Chunk<Summary>(CHUNK, this.values.length > 0);
    right.rows.set(this.rows.subarray(left, this.size));
    if (this.values.length > 0) right.values.set(this.values.subarray(left, this.size));
    right.size = this.size - left;
    this.size = left;
    return right;
  }

  #grow(): void {
    const { rows, values } = this;
    this.rows = new Uint32Array(rows.length * 2);
    this.rows.set(rows);
    if (values.length === 0) return;
    this.values = new Float64Array(rows.length * 2);
    this.values.set(values);
  }
}
