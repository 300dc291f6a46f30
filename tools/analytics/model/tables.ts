type Numbers = Float64Array | Uint32Array;
type Kinds = Readonly<Record<string, 'float' | 'int'>>;

/** Rows that are added between two looks at the space that is left. */
const STRIDE = 1024;
/** Rows that are copied at each look. They are so many more than are added in between that copying ends before the space does. */
const COPIED = 8 * STRIDE;

/**
 * Rows as typed arrays, one for each member. A row takes tens of bytes, where objects take hundreds. When the arrays are three quarters
 * full, larger ones are filled in small steps, because copying millions of rows at once would hold up all callers.
 */
export class Table<Columns extends Kinds> {
  readonly #kinds: Columns;
  readonly columns: { [Name in keyof Columns]: Numbers };
  size = 0;
  #capacity = STRIDE;
  #larger: { [Name in keyof Columns]: Numbers } | undefined;
  /** Number of rows that the larger arrays already contain. */
  #copied = 0;
  readonly #free: number[] = [];

  constructor(kinds: Columns) {
    this.#kinds = kinds;
    this.columns = this.#columnsOf(this.#capacity);
  }

  /** Adds a row and returns its number, which may be a number that was released before. */
  push(values: { readonly [Name in keyof Columns]: number }): number {
    const row = this.#free.pop() ?? this.size;
    for (const name in values) this.set(name, row, values[name]);
    if (row === this.size) {
      this.size += 1;
      if (this.size % STRIDE === 0) this.#makeRoom();
    }
    return row;
  }

  free(row: number): void {
    this.#free.push(row);
  }

  set(name: keyof Columns, row: number, value: number): void {
    this.columns[name][row] = value;
    if (this.#larger && row < this.#copied) this.#larger[name][row] = value;
  }

  at(name: keyof Columns, row: number): number {
    return this.columns[name][row] ?? 0;
  }

  #makeRoom(): void {
    if (this.size < 0.75 * this.#capacity) return;
    const capacity = Math.ceil((1.5 * this.#capacity) / STRIDE) * STRIDE;
    this.#larger ??= this.#columnsOf(capacity);
    const end = Math.min(this.size, this.#copied + COPIED);
    for (const name in this.#kinds) {
      this.#larger[name].set(this.columns[name].subarray(this.#copied, end), this.#copied);
    }
    this.#copied = end;
    if (end < this.size) return;
    Object.assign(this.columns, this.#larger);
    this.#larger = undefined;
    this.#copied = 0;
    this.#capacity = capacity;
  }

  #columnsOf(length: number): { [Name in keyof Columns]: Numbers } {
    // The loop below fills it for every name of `kinds`.
    const columns = {} as { [Name in keyof Columns]: Numbers };
    for (const name in this.#kinds)
      columns[name] = this.#kinds[name] === 'float' ? new Float64Array(length) : new Uint32Array(length);
    return columns;
  }
}

/** Texts that repeat, as numbers from 0 on. */
export class Labels {
  readonly #numbers = new Map<string, number>();
  readonly texts: string[] = [];

  /** The number of the text. A new text gets a new number. */
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
