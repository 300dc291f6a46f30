type Numbers = Float64Array | Uint32Array;
type Kinds = Readonly<Record<string, 'float' | 'int'>>;

/** Rows as typed arrays, one per member: tens of bytes a row where objects take hundreds. */
export class Table<Columns extends Kinds> {
  readonly #kinds: Columns;
  readonly columns: { [Name in keyof Columns]: Numbers };
  size = 0;
  #capacity = 1024;
  readonly #free: number[] = [];

  constructor(kinds: Columns) {
    this.#kinds = kinds;
    // Filled for every name of `kinds` right here.
    this.columns = {} as { [Name in keyof Columns]: Numbers };
    for (const name in kinds) this.columns[name] = columnOf(kinds[name], this.#capacity);
  }

  /** The number of the new row, which may be that of one that was given back. */
  push(values: { readonly [Name in keyof Columns]: number }): number {
    if (this.#free.length === 0 && this.size === this.#capacity) this.#grow();
    const row = this.#free.pop() ?? this.size;
    for (const name in values) this.columns[name][row] = values[name];
    if (row === this.size) this.size += 1;
    return row;
  }

  free(row: number): void {
    this.#free.push(row);
  }

  set(name: keyof Columns, row: number, value: number): void {
    this.columns[name][row] = value;
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
