import type { Page, Query, Reader } from '../../port.ts';
import { firstOf } from '../../record-change.ts';

type KnownRecord = { readonly id: string; readonly revision?: number; readonly updatedAt?: string };

/** How many records of a collection are kept, and how many answers to questions. Above it, all are forgotten. */
const MOST = 10_000;

/** Reads records from memory while `isFresh` says that no change can have been missed. An unchanged record stays the same object. */
export class KnownRecords<Record extends KnownRecord> implements Reader<Record> {
  readonly #reader: Reader<Record>;
  readonly #isFresh: () => boolean;
  readonly #records = new Map<string, Record>();
  readonly #pages = new Map<string, Page<Record>>();
  /** Grows with each change, so that an answer already on its way is not cached. */
  #changes = 0;

  constructor(reader: Reader<Record>, isFresh: () => boolean) {
    this.#reader = reader;
    this.#isFresh = isFresh;
  }

  async get(id: string): Promise<Record | undefined> {
    const known = this.#isFresh() ? this.#records.get(id) : undefined;
    if (known) return known;
    const asked = this.#changes;
    const record = await this.#reader.get(id);
    return record && this.#kept(record, asked);
  }

  read(id: string): Promise<Record> {
    return this.#reader.read(id);
  }

  async find(query: Query<Record>): Promise<Page<Record>> {
    const name = JSON.stringify(query);
    const known = this.#isFresh() ? this.#pages.get(name) : undefined;
    if (known) return known;
    const asked = this.#changes;
    const { records, next } = await this.#reader.find(query);
    const page = { records: records.map((record) => this.#kept(record, asked)), next };
    // What is not there is asked for anew each time: it could be made at any moment.
    if (asked === this.#changes && records.length > 0) roomIn(this.#pages).set(name, page);
    return page;
  }

  first(query: Omit<Query<Record>, 'limit'>): Promise<Record | undefined> {
    return firstOf(this, query);
  }

  count(query: Parameters<Reader<Record>['count']>[0]): Promise<number> {
    return this.#reader.count(query);
  }

  forget(id: string): void {
    this.#changes += 1;
    this.#records.delete(id);
    this.#pages.clear();
  }

  forgetAll(): void {
    this.#changes += 1;
    this.#records.clear();
    this.#pages.clear();
  }

  #kept(record: Record, asked: number): Record {
    const known = this.#records.get(record.id);
    if (known && known.revision === record.revision && known.updatedAt === record.updatedAt) return known;
    if (asked === this.#changes) roomIn(this.#records).set(record.id, record);
    return record;
  }
}

function roomIn<Value>(map: Map<string, Value>): Map<string, Value> {
  if (map.size >= MOST) map.clear();
  return map;
}
