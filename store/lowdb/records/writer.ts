import { UniqueTaken } from '../../errors.ts';
import { mapInSeries } from '../../map-in-series.ts';
import type { Change, Guard, Page, Writer } from '../../port.ts';
import {
  assertMutable,
  expectedRecord,
  firstOf,
  newRecord,
  touchedRecord,
  updatedRecord,
} from '../../record-change.ts';
import type { Row } from '../../row.ts';
import type { Collection } from './collection.ts';
import { find, inOrder } from './find.ts';
import { count, type FindIn, type RowCount, type RowQuery, withOwners } from './query.ts';

interface StagingDeps {
  readonly now: () => string;
  readonly assertLive: () => void;
  readonly find: FindIn;
}

/** The changes of one transaction to one collection. Reads see them over the committed records. */
export class Staging implements Writer<Row> {
  readonly #collection: Collection;
  readonly #now: () => string;
  readonly #assertLive: () => void;
  readonly #find: FindIn;
  /** Changed rows by id, undefined if the record was deleted. */
  readonly changes = new Map<string, Row | undefined>();
  readonly #holders: Map<string, string>[];

  constructor(collection: Collection, { now, assertLive, find }: StagingDeps) {
    this.#collection = collection;
    this.#now = now;
    this.#assertLive = assertLive;
    this.#find = find;
    this.#holders = collection.uniques.map(() => new Map<string, string>());
  }

  async get(id: string): Promise<Row | undefined> {
    this.#assertLive();
    return this.#current(id);
  }

  async read(id: string): Promise<Row> {
    this.#assertLive();
    return this.#expected(id);
  }

  async find(query: RowQuery): Promise<Page<Row>> {
    this.#assertLive();
    if (query.sort) await inOrder(this.#collection, query);
    return find(this.#collection, query, this.changes);
  }

  first(query: Omit<RowQuery, 'limit'>): Promise<Row | undefined> {
    return firstOf(this, query);
  }

  async count(filter: RowCount): Promise<number> {
    this.#assertLive();
    return count(this.#collection, await withOwners(this.#collection, filter, this.#find), this.changes);
  }

  async insert(record: Partial<Row>): Promise<Row> {
    this.#assertLive();
    const row = newRecord(this.#collection, record, this.#now());
    if (this.#current(row.id)) throw new Error(`${this.#collection.name} has a record ${row.id} already`);
    this.#stage(row.id, row);
    return row;
  }

  insertAll(records: readonly Partial<Row>[]): Promise<Row[]> {
    return mapInSeries(records, (record) => this.insert(record));
  }

  async update(id: string, change: Change<Row>, options?: Guard): Promise<Row> {
    this.#assertLive();
    const current = this.#mutable(id, options);
    return this.#replace(current, updatedRecord(this.#collection, current, change, this.#now()));
  }

  async touch(id: string, change: Change<Row>): Promise<Row> {
    this.#assertLive();
    const current = this.#mutable(id);
    return this.#replace(current, touchedRecord(this.#collection, current, change));
  }

  async delete(id: string, options?: Guard): Promise<Row> {
    this.#assertLive();
    const row = this.#expected(id, options);
    this.#stage(id, undefined);
    return row;
  }

  deleteAll(ids: readonly string[]): Promise<Row[]> {
    return mapInSeries(ids, (id) => this.delete(id));
  }

  #current(id: string): Row | undefined {
    return this.changes.has(id) ? this.changes.get(id) : this.#collection.get(id);
  }

  #expected(id: string, options?: Guard): Row {
    return expectedRecord(this.#collection, id, this.#current(id), options);
  }

  #mutable(id: string, options?: Guard): Row {
    assertMutable(this.#collection);
    return this.#expected(id, options);
  }

  #replace(current: Row, next: Row): Row {
    if (next !== current) this.#stage(next.id, next);
    return next;
  }

  #stage(id: string, row: Row | undefined): void {
    const { name, uniques } = this.#collection;
    const keys = uniques.map((unique) => row && unique.key(row));
    for (const [at, unique] of uniques.entries()) {
      const holder = this.#holder(at, keys[at]);
      if (holder !== undefined && holder !== id) throw new UniqueTaken(name, unique.rule.fields, holder);
    }
    const before = this.changes.get(id);
    for (const [at, unique] of uniques.entries()) {
      const holders = this.#holders[at];
      const left = before && unique.key(before);
      if (left !== undefined && holders?.get(left) === id) holders.delete(left);
      const entered = keys[at];
      if (entered !== undefined) holders?.set(entered, id);
    }
    this.changes.set(id, row);
  }

  #holder(at: number, key: string | undefined): string | undefined {
    if (key === undefined) return undefined;
    const staged = this.#holders[at]?.get(key);
    if (staged !== undefined) return staged;
    const committed = this.#collection.uniques[at]?.holder(key);
    return committed !== undefined && !this.changes.has(committed) ? committed : undefined;
  }
}
