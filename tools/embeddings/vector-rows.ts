/** Rows that are compared before others have their turn: less than a millisecond. */
const SLICE = 8192;
const BITS = 32;

/** Rows of 8-bit numbers, all of one width, and their signs, by which those far from a query are ruled out. */
export class VectorRows {
  readonly #width: number;
  readonly #words: number;
  readonly #codes: Int8Array[] = [];
  readonly #signs: Uint32Array[] = [];

  constructor(width: number) {
    this.#width = width;
    this.#words = Math.ceil(width / BITS);
  }

  set(row: number, codes: Int8Array): void {
    const slice = Math.floor(row / SLICE);
    this.#codes[slice] ??= new Int8Array(SLICE * this.#width);
    this.#signs[slice] ??= new Uint32Array(SLICE * this.#words);
    this.#codes[slice].set(codes, (row % SLICE) * this.#width);
    this.#signs[slice].set(this.#signsOf(codes), (row % SLICE) * this.#words);
  }

  get(row: number): Int8Array {
    const at = (row % SLICE) * this.#width;
    return this.#codes[Math.floor(row / SLICE)]?.slice(at, at + this.#width) ?? new Int8Array(this.#width);
  }

  /** The sum of the products of a row's numbers with the query's. */
  product(row: number, query: Int8Array): number {
    const codes = this.#codes[Math.floor(row / SLICE)];
    if (!codes) return 0;
    const from = (row % SLICE) * this.#width;
    let sum = 0;
    for (let at = 0; at < this.#width; at += 1) sum += (query[at] ?? 0) * (codes[from + at] ?? 0);
    return sum;
  }

  /** How many signs of each of the first `count` rows differ from the query's: the fewer, the smaller the angle between them. */
  *differences(
    query: Int8Array,
    count: number,
  ): Generator<{ readonly from: number; readonly counts: Uint16Array }, void> {
    const wanted = this.#signsOf(query);
    for (const [slice, signs] of this.#signs.entries()) {
      const from = slice * SLICE;
      if (from >= count) return;
      yield { from, counts: differencesIn(signs, wanted, Math.min(SLICE, count - from)) };
    }
  }

  #signsOf(codes: Int8Array): Uint32Array {
    const signs = new Uint32Array(this.#words);
    for (const [at, code] of codes.entries()) {
      if (code > 0) signs[at >>> 5] = (signs[at >>> 5] ?? 0) | (1 << (at & 31));
    }
    return signs;
  }
}

function differencesIn(signs: Uint32Array, wanted: Uint32Array, count: number): Uint16Array {
  const counts = new Uint16Array(count);
  const words = wanted.length;
  for (let row = 0; row < count; row += 1) {
    let sum = 0;
    for (let at = 0; at < words; at += 1) sum += onesIn((signs[row * words + at] ?? 0) ^ (wanted[at] ?? 0));
    counts[row] = sum;
  }
  return counts;
}

/** How many of 32 bits are set: sums of 2, 4 and 8 neighbours, then all in the highest byte. */
function onesIn(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
