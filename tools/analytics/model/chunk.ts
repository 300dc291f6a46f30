/** Rows in a chunk at most. */
export const CHUNK = 256;

/** A stretch of rows in order. */
export class Chunk<Summary> {
  rows: Uint32Array;
  /** A number for each row; empty where rows have none. */
  values: Float64Array;
  size = 0;
  /** What is known of all rows together, until something about one of them changes. */
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

  /** Leaves so many rows here and returns the others. */
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
