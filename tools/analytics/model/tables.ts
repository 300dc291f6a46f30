type Numbers = Float64Array | Uint32Array;
type Kinds = Readonly<Record<string, 'float' | 'int'>>;

/** Rows as typed arrays, one per member: tens of bytes a row where objects take hundreds. */
export class Table<Columns extends Kinds> {
  readonly #kinds: Columns;
  readonly columns: { [Name in keyof Columns]: Numbers };
  size = 0;
  #capacity = 1024;

  constructor(kinds: Columns) {
    this.#kinds = kinds;
    // Filled for every name of `kinds` right here.
    this.columns = {} as { [Name in keyof Columns]: Numbers };
    for (const name in kinds) this.columns[name] = columnOf(kinds[name], this.#capacity);
  }

  /** The number of the new row. */
  push(values: { readonly [Name in keyof Columns]: number }): number {
    if (this.size === this.#capacity) this.#grow();
    const row = this.size;
    for (const name in values) this.columns[name][row] = values[name];
    this.size += 1;
    return row;
  }

  at(name: keyof Columns, row: number): number {
    return this.columns[name][row] ?? 0;
  }

  #grow(): void {
    this.#capacity = Math.ceil(this.#capacity * 1.5);
    for (const name in this.#kinds) {
      const grown = columnOf(this.#kinds[name], this.#capacity);
      grown.set(this.columns[name]);
      this.columns[name] = grown;
    }
  }
}

function columnOf(kind: string | undefined, length: number): Numbers {
  return kind === 'float' ? new Float64Array(length) : new Uint32Array(length);
}

/** Texts that repeat, as numbers from 0 on. */
export class Labels {
  readonly #numbers = new Map<string, number>();
  readonly texts: string[] = [];

  /** The number of the text, a new one where it is new. */
  add(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.texts.length;
      this.#numbers.set(text, number);
      this.texts.push(text);
    }
    return number;
  }

  get(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  text(number: number): string {
    return this.texts[number] ?? '';
  }

  get size(): number {
    return this.texts.length;
  }
}

/** Rows of a table in an order of their own. New rows are sorted among themselves and merged in, so that order stays cheap to keep. */
export class SortedRows {
  #rows = new Uint32Array(0);
  #seen = 0;
  #deadSeen = 0;
  readonly #compare: (a: number, b: number) => number;

  constructor(compare: (a: number, b: number) => number) {
    this.#compare = compare;
  }

  /** The numbers of the rows in order, without those that are dead by now. */
  get(size: number, dead: ReadonlySet<number>): Uint32Array {
    if (size === this.#seen && dead.size === this.#deadSeen) return this.#rows;
    const fresh = Uint32Array.from({ length: size - this.#seen }, (_, at) => this.#seen + at)
      .filter((row) => !dead.has(row))
      .sort(this.#compare);
    const old = dead.size > 0 ? this.#rows.filter((row) => !dead.has(row)) : this.#rows;
    this.#rows = merge(old, fresh, this.#compare);
    this.#seen = size;
    this.#deadSeen = dead.size;
    return this.#rows;
  }
}

function merge(
  old: Uint32Array,
  fresh: Uint32Array,
  compare: (a: number, b: number) => number,
): Uint32Array<ArrayBuffer> {
  const merged = new Uint32Array(old.length + fresh.length);
  let [left, right] = [0, 0];
  for (let at = 0; at < merged.length; at += 1) {
    const [a, b] = [old[left], fresh[right]];
    if (b === undefined || (a !== undefined && compare(a, b) <= 0)) {
      merged[at] = a ?? 0;
      left += 1;
    } else {
      merged[at] = b;
      right += 1;
    }
  }
  return merged;
}

/** The first place in `rows` whose value is not less than the wanted one; values grow along the rows. */
export function lowerBound(
  rows: Uint32Array,
  wanted: number,
  value: (row: number) => number,
  low = 0,
  high = rows.length,
): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (value(rows[middle] ?? 0) < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}
