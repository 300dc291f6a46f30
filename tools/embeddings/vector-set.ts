import { setImmediate } from 'node:timers/promises';
import type { EmbeddedRecord, StoredEmbedding } from '../../store/embeddings-port.ts';
import { CALIBRATION, nearFrom } from './calibration.ts';
import { VectorRows } from './vector-rows.ts';
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
  #vectors: VectorRows | undefined;
  /** How many numbers its vectors have, once there is one. */
  width: number | undefined;
  /** How many records of each collection have all their vectors. */
  readonly complete = new Map<string, number>();
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
    if (row === undefined || !this.#vectors) return undefined;
    return { hash, scale: this.#scales[row] ?? 0, codes: this.#vectors.get(row) };
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
    if (state !== '') this.#count(collection, 1);
  }

  remove(key: EmbeddedRecord): void {
    const record = this.get(key);
    if (!record) return;
    this.#records.delete(keyOf(key));
    if (record.state !== '') this.#count(key.collection, -1);
    for (const row of new Set(record.rows)) {
      const others = (this.#holders[row] ?? []).filter((holder) => holder !== record);
      this.#holders[row] = others;
      if (others.length > 0) continue;
      this.#rowOf.delete(this.#hashes[row] ?? '');
      this.#scales[row] = 0;
      this.#free.push(row);
    }
  }

  #count(collection: string, more: number): void {
    this.complete.set(collection, (this.complete.get(collection) ?? 0) + more);
  }

  cosine(row: number, { scale, codes }: Vector): number {
    return (this.#vectors?.product(row, codes) ?? 0) * scale * (this.#scales[row] ?? 0);
  }

  /**
   * Records by their best row, nearest first, in batches. Rows are taken up by their signs, many at once, and then sorted by their cosines.
   * Others have their turn meanwhile.
   */
  async *nearest(query: Vector): AsyncGenerator<readonly IndexedRecord[], void> {
    const seen = new Set<IndexedRecord>();
    for (const rows of byDifferences(await this.#differences(query))) {
      const near: { readonly row: number; readonly cosine: number }[] = [];
      for (const [at, row] of rows.entries()) {
        const cosine = this.cosine(row, query);
        if (cosine > 0) near.push({ row, cosine });
        if (at % COMPARED === COMPARED - 1) await setImmediate();
      }
      near.sort((one, other) => other.cosine - one.cosine || one.row - other.row);
      for (let from = 0; from < near.length; from += BATCH) {
        const batch: IndexedRecord[] = [];
        for (const { row } of near.slice(from, from + BATCH)) {
          for (const record of this.#holders[row] ?? []) {
            if (!seen.has(record)) batch.push(record);
            seen.add(record);
          }
        }
        yield batch;
      }
    }
  }

  async #differences({ codes }: Vector): Promise<Uint16Array> {
    const differences = new Uint16Array(this.#hashes.length);
    for (const { from, counts } of this.#vectors?.differences(codes, differences.length) ?? []) {
      differences.set(counts, from);
      await setImmediate();
    }
    return differences;
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
    this.#vectors ??= new VectorRows(part.codes.length);
    this.#vectors.set(row, part.codes);
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

/** So many rows are compared by their numbers at once: for 40 records, far more than those that signs alone misplace. */
const COMPARED = 2048;
const BATCH = 256;

/** All rows, those with the fewest differences first, in parts. */
function* byDifferences(differences: Uint16Array): Generator<readonly number[], void> {
  const counts: number[] = [];
  for (const difference of differences) counts[difference] = (counts[difference] ?? 0) + 1;
  for (let from = 0; from < counts.length; ) {
    let to = from;
    for (let count = 0; to < counts.length && count < COMPARED; to += 1) count += counts[to] ?? 0;
    const rows: number[] = [];
    for (const [row, difference] of differences.entries()) if (difference >= from && difference < to) rows.push(row);
    yield rows;
    from = to;
  }
}
