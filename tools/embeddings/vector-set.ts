import { setImmediate } from 'node:timers/promises';
import type { EmbeddedRecord, StoredEmbedding } from '../../store/embeddings-port.ts';
import { CALIBRATION, nearFrom } from './calibration.ts';
import { DotProducts } from './dot-products.ts';
import { type Part, unpackParts, type Vector } from './vectors.ts';

/** A record with the rows of its parts. */
export interface IndexedRecord extends EmbeddedRecord {
  readonly state: string;
  readonly rows: readonly number[];
}

/** The vectors of one model in memory, each text once. */
export class VectorSet {
  readonly model: string;
  readonly #records = new Map<string, IndexedRecord>();
  readonly #rowOf = new Map<string, number>();
  readonly #hashes: string[] = [];
  readonly #holders: IndexedRecord[][] = [];
  readonly #free: number[] = [];
  #scales = new Float32Array(1024);
  #products: DotProducts | undefined;
  /** How many numbers its vectors have, once there is one. */
  width: number | undefined;
  complete = 0;
  /** From this cosine on a text is near. Undefined until the model embedded the texts of the calibration. */
  nearFrom: number | undefined;

  constructor(model: string) {
    this.model = model;
  }

  get records(): ReadonlyMap<string, IndexedRecord> {
    return this.#records;
  }

  get(record: EmbeddedRecord): IndexedRecord | undefined {
    return this.#records.get(keyOf(record));
  }

  /** The vector of a text that some record has. */
  known(hash: string): Part | undefined {
    const row = this.#rowOf.get(hash);
    if (row === undefined || !this.#products) return undefined;
    return { hash, scale: this.#scales[row] ?? 0, codes: this.#products.get(row).subarray(0, this.width) };
  }

  put({ collection, id, state, parts: packed }: StoredEmbedding): void {
    const parts = unpackParts(packed);
    const width = parts[0]?.codes.length ?? this.width;
    this.width ??= width;
    if (width !== this.width) return; // of a model that changed under its name
    if (collection === CALIBRATION.collection) {
      this.nearFrom = nearFrom(parts);
      return;
    }
    const rows = parts.map((part) => this.#place(part));
    const record: IndexedRecord = { collection, id, state, rows };
    for (const row of new Set(rows)) this.#holders[row]?.push(record);
    this.remove({ collection, id });
    this.#records.set(keyOf(record), record);
    if (state !== '') this.complete += 1;
  }

  remove(key: EmbeddedRecord): void {
    const record = this.get(key);
    if (!record) return;
    this.#records.delete(keyOf(key));
    if (record.state !== '') this.complete -= 1;
    for (const row of new Set(record.rows)) {
      const others = (this.#holders[row] ?? []).filter((holder) => holder !== record);
      this.#holders[row] = others;
      if (others.length > 0) continue;
      this.#rowOf.delete(this.#hashes[row] ?? '');
      this.#scales[row] = 0;
      this.#free.push(row);
    }
  }

  /** The cosine of each row with the query. Others have their turn meanwhile. */
  async cosines({ scale, codes }: Vector): Promise<Float32Array> {
    const cosines = new Float32Array(this.#hashes.length);
    for (const { from, products } of this.#products?.with(codes, cosines.length) ?? []) {
      for (const [at, product] of products.entries())
        cosines[from + at] = product * scale * (this.#scales[from + at] ?? 0);
      await setImmediate();
    }
    return cosines;
  }

  /** Records by their best row, best first, in batches that grow. */
  *byCosine(cosines: Float32Array): Generator<readonly IndexedRecord[], void> {
    const seen = new Set<IndexedRecord>();
    for (const rows of inOrder(cosines)) {
      const batch: IndexedRecord[] = [];
      for (const row of rows) {
        for (const record of this.#holders[row] ?? []) {
          if (!seen.has(record)) batch.push(record);
          seen.add(record);
        }
      }
      yield batch;
    }
  }

  #place(part: Part): number {
    const known = this.#rowOf.get(part.hash);
    if (known !== undefined) return known;
    const row = this.#free.pop() ?? this.#hashes.length;
    if (row >= this.#scales.length) {
      const larger = new Float32Array(row * 2);
      larger.set(this.#scales);
      this.#scales = larger;
    }
    this.#products ??= new DotProducts(part.codes.length);
    this.#products.set(row, part.codes);
    this.#scales[row] = part.scale;
    this.#hashes[row] = part.hash;
    this.#holders[row] = [];
    this.#rowOf.set(part.hash, row);
    return row;
  }
}

export function keyOf({ collection, id }: EmbeddedRecord): string {
  return `${collection} ${id}`;
}

const FIRST = 256;
const BUCKETS = 1024;

/** The rows with a positive cosine, highest first: the first ones at once, the others in ever larger parts, so that few are sorted. */
function* inOrder(cosines: Float32Array): Generator<readonly number[], void> {
  const counts = new Uint32Array(BUCKETS + 1);
  const bucketOf = (value: number) => Math.max(0, Math.min(BUCKETS, Math.ceil(value * BUCKETS)));
  for (const value of cosines) {
    const bucket = bucketOf(value);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  let above = BUCKETS;
  for (let wanted = FIRST; above > 0; wanted *= 4) {
    let from = above;
    for (let count = 0; from > 0 && count < wanted; from -= 1) count += counts[from] ?? 0;
    const rows: number[] = [];
    for (const [row, value] of cosines.entries()) {
      const bucket = bucketOf(value);
      if (bucket > from && bucket <= above) rows.push(row);
    }
    yield rows.sort((one, other) => (cosines[other] ?? 0) - (cosines[one] ?? 0) || one - other);
    above = from;
  }
}
