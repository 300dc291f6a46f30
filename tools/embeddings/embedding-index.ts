import { setImmediate } from 'node:timers/promises';
import type { CollectionName } from '../../store/collections.ts';
import type { EmbeddedRecord, StoredEmbedding } from '../../store/embeddings-port.ts';
import { Mutex } from '../../store/mutex.ts';
import type { Store } from '../../store/port.ts';
import type { ReadableFilter } from '../search/types.ts';
import { EMBEDDED, type EmbeddedCollection } from './texts.ts';
import { type IndexedRecord, VectorSet } from './vector-set.ts';
import type { Vector } from './vectors.ts';

const TOPIC = 'embeddings';
/** Other processes embed too: what they kept is read this often at most. */
const READ_EVERY_MS = 500;
/** Where the filter admits so few records, these are compared, and otherwise the nearest are filtered. */
const FEW = 2000;
/** Rows that are compared before others have their turn. */
const SLICE = 2048;

export interface Near {
  readonly record: IndexedRecord;
  readonly parts: readonly NearPart[];
}

interface NearPart {
  readonly cosine: number;
  /** From 1 on it is nearer than texts that have nothing to do with the query. */
  readonly nearness: number;
}

/** All kept vectors in the memory of this process, by model. It follows what is deleted, and what other processes keep. */
export class EmbeddingIndex {
  readonly #store: Store;
  readonly #onFailure: (cause: unknown) => void;
  /** Reads and puts take turns: what was read before a put was made would undo it here. */
  readonly #turns = new Mutex();
  #sets = new Map<string, VectorSet>();
  readonly #ends: (() => void)[] = [];
  #place = 0;
  #reading: Promise<void> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(store: Store, onFailure: (cause: unknown) => void) {
    this.#store = store;
    this.#onFailure = onFailure;
  }

  get sets(): ReadonlyMap<string, VectorSet> {
    return this.#sets;
  }

  async start(): Promise<void> {
    const { cluster } = this.#store;
    const hear = this.#store.onCommit(({ changes }) => {
      for (const { kind, collection, record } of changes)
        if (kind === 'deleted') this.drop({ collection, id: record.id });
    }, EMBEDDED);
    this.#ends.push(hear);
    if (cluster) {
      this.#ends.push(cluster.onTold(TOPIC, (removed) => this.#sets.delete(String(removed))));
      this.#ends.push(cluster.onGap(() => void this.#readAgain().catch(this.#onFailure)));
    }
    await this.read();
  }

  close(): void {
    for (const end of this.#ends) end();
  }

  /** Takes in what was kept since it was last called. */
  read(): Promise<void> {
    this.#reading ??= this.#inTurn(() => this.#read()).finally(() => {
      this.#reading = undefined;
      this.#readAt = performance.now();
    });
    return this.#reading;
  }

  setOf(model: string): VectorSet {
    const set = this.#sets.get(model) ?? new VectorSet(model);
    this.#sets.set(model, set);
    return set;
  }

  /** Keeps them, and finds them from now on. @throws StoreUnavailable */
  async put(rows: readonly StoredEmbedding[]): Promise<void> {
    await this.#inTurn(async () => {
      await this.#store.embeddings.put(rows);
      for (const row of rows) this.setOf(row.model).put(row);
    });
  }

  async remove(records: readonly EmbeddedRecord[]): Promise<void> {
    for (const record of records) this.drop(record);
    await this.#store.embeddings.remove(records);
  }

  async removeModel(model: string): Promise<void> {
    this.#sets.delete(model);
    await this.#store.embeddings.removeModel(model);
    this.#store.cluster?.tell(TOPIC, model);
  }

  drop(record: EmbeddedRecord): void {
    for (const set of this.#sets.values()) set.remove(record);
  }

  /** The records nearest to the query among those that the filter admits, nearest first. */
  async nearest(
    { model, query }: { readonly model: string; readonly query: Vector },
    collection: EmbeddedCollection,
    { readable, most }: { readonly readable: ReadableFilter; readonly most: number },
  ): Promise<Near[]> {
    if (this.#store.cluster && performance.now() - this.#readAt > READ_EVERY_MS) await this.read();
    const set = this.setOf(model);
    const isReady = (record: IndexedRecord) => record.collection === collection && record.state !== '';
    const few = await this.#ids(collection, { ...readable, limit: FEW + 1 });
    if (few.length <= FEW) {
      const records = few.flatMap((id) => set.get({ collection, id }) ?? []).filter(isReady);
      const found = await compared(set, records, query);
      return found.sort((one, other) => bestOf(other) - bestOf(one)).slice(0, most);
    }
    const found: IndexedRecord[] = [];
    for await (const batch of set.nearest(query)) {
      const ready = batch.filter(isReady);
      const ids = ready.map(({ id }) => id);
      if (ids.length === 0) continue;
      const where = { ...readable.where, id: ids };
      const admitted = new Set(await this.#ids(collection, { ...readable, where, limit: ids.length }));
      found.push(...ready.filter(({ id }) => admitted.has(id)));
      if (found.length >= most) break;
    }
    return compared(set, found.slice(0, most), query);
  }

  #ids(collection: EmbeddedCollection, query: ReadableFilter & { readonly limit: number }): Promise<readonly string[]> {
    return this.#store.ids(collection as CollectionName, query);
  }

  /** It is unknown what others removed. */
  #readAgain(): Promise<void> {
    return this.#inTurn(async () => {
      this.#sets = new Map();
      this.#place = 0;
      await this.#read();
    });
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const end = await this.#turns.take();
    return work().finally(end);
  }

  async #read(): Promise<void> {
    for await (const { rows, place } of this.#store.embeddings.read(this.#place)) {
      for (const row of rows) this.setOf(row.model).put(row);
      this.#place = place;
    }
  }
}

/** Computes the cosines of the parts of each record, and pauses for other work. */
async function compared(set: VectorSet, records: readonly IndexedRecord[], query: Vector): Promise<Near[]> {
  const found: Near[] = [];
  let rows = 0;
  for (const record of records) {
    const parts = record.rows.map((row): NearPart => {
      const cosine = Math.max(0, Math.min(1, set.cosine(row, query)));
      return { cosine, nearness: cosine / (set.nearFrom ?? 1) };
    });
    found.push({ record, parts });
    rows += parts.length;
    if (rows < SLICE) continue;
    rows = 0;
    await setImmediate();
  }
  return found;
}

function bestOf({ parts }: Near): number {
  return parts.reduce((best, { cosine }) => Math.max(best, cosine), 0);
}
