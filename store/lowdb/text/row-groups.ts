import type { Row } from '../../row.ts';

/** Groups rows with equal values in a few members, so that a filter on these members is judged once for each group. */
export class Groups {
  readonly fields: readonly string[];
  /** For each group, one of its rows and the number of rows. A group without rows is used again. */
  readonly #samples: Row[] = [];
  readonly #sizes: number[] = [];
  readonly #free: number[] = [];
  readonly #byValues = new Map<string, number>();
  #groups: number[] = [];

  constructor(fields: readonly string[]) {
    this.fields = fields;
  }

  enter(slot: number, row: Row): void {
    const values = this.#valuesOf(row);
    let group = this.#byValues.get(values);
    if (group === undefined) {
      group = this.#free.pop() ?? this.#samples.length;
      this.#byValues.set(values, group);
      this.#sizes[group] = 0;
    }
    this.#samples[group] = row;
    this.#sizes[group] = (this.#sizes[group] ?? 0) + 1;
    this.#groups[slot] = group;
  }

  leave(slot: number, row: Row): void {
    const group = this.#groups[slot] ?? 0;
    const size = (this.#sizes[group] ?? 0) - 1;
    this.#sizes[group] = size;
    if (size > 0) return;
    this.#byValues.delete(this.#valuesOf(row));
    this.#free.push(group);
  }

  renumber(kept: readonly number[]): void {
    this.#groups = kept.map((slot) => this.#groups[slot] ?? 0);
  }

  /** For one query: judges each group once, and says for a slot whether its row fits. */
  judge(fits: (row: Row) => boolean): (slot: number) => boolean {
    const verdicts = new Uint8Array(this.#samples.length);
    return (slot) => {
      const group = this.#groups[slot] ?? 0;
      const verdict = verdicts[group] ?? 0;
      if (verdict !== 0) return verdict === FITS;
      const sample = this.#samples[group];
      const isFit = sample !== undefined && fits(sample);
      verdicts[group] = isFit ? FITS : FITS_NOT;
      return isFit;
    };
  }

  #valuesOf(row: Row): string {
    return this.fields.length === 0 ? '' : JSON.stringify(this.fields.map((field) => row[field]));
  }
}

const FITS = 1;
const FITS_NOT = 2;
