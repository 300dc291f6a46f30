import { isDeepStrictEqual } from 'node:util';
import { compiled } from '../../../resources/compiled.ts';
import { NotFound, StaleRevision, UniqueTaken } from '../../errors.ts';
import { newId } from '../../ids.ts';
import type { Change, Guard, Page, Writer } from '../../port.ts';
import { frozenCopy, type Row } from '../rows/row.ts';
import type { Collection } from './collection.ts';
import { count, find, type RowFilter, type RowQuery } from './query.ts';

/** Members that only the store writes. A change ignores them. */
const BOOKKEEPING: readonly string[] = ['id', 'createdAt', 'updatedAt', 'revision'];

/** The changes of one transaction to one collection. Reads see them over the committed records. */
export class Staging implements Writer<Row> {
  readonly #collection: Collection;
  readonly #now: () => string;
  readonly #assertLive: () => void;
  /** Changed rows by id, undefined where the record was deleted. */
  readonly changes = new Map<string, Row | undefined>();
  /** For each unique rule, the changed record that holds a value. */
  readonly #holders: Map<string, string>[];

  constructor(collection: Collection, now: () => string, assertLive: () => void) {
    this.#collection = collection;
    this.#now = now;
    this.#assertLive = assertLive;
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
    return find(this.#collection, query, this.changes);
  }

  async count(filter: RowFilter): Promise<number> {
    this.#assertLive();
    return count(this.#collection, filter, this.changes);
  }

  async insert(record: Partial<Row>): Promise<Row> {
    this.#assertLive();
    const { idPrefix, appendOnly } = this.#collection.definition;
    const now = this.#now();
    const given = Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
    const kept = appendOnly ? {} : { updatedAt: now, revision: 1 };
    const row = this.#parse({ id: newId(idPrefix), createdAt: now, ...kept, ...given });
    if (this.#current(row.id)) throw new Error(`${this.#collection.name} has a record ${row.id} already`);
    this.#stage(row.id, row);
    return row;
  }

  async update(id: string, change: Change<Row>, options?: Guard): Promise<Row> {
    this.#assertLive();
    const current = this.#mutable(id, options);
    const revision = typeof current.revision === 'number' ? current.revision + 1 : 1;
    return this.#change(current, change, { updatedAt: this.#now(), revision });
  }

  async touch(id: string, change: Change<Row>): Promise<Row> {
    this.#assertLive();
    return this.#change(this.#mutable(id), change, {});
  }

  async delete(id: string, options?: Guard): Promise<Row> {
    this.#assertLive();
    const row = this.#expected(id, options);
    this.#stage(id, undefined);
    return row;
  }

  #current(id: string): Row | undefined {
    return this.changes.has(id) ? this.changes.get(id) : this.#collection.get(id);
  }

  #expected(id: string, options?: Guard): Row {
    const row = this.#current(id);
    if (!row) throw new NotFound(this.#collection.name, id);
    const expected = options?.expectedRevision;
    const revision = row.revision;
    if (expected !== undefined && typeof revision === 'number' && revision !== expected) {
      throw new StaleRevision(revision);
    }
    return row;
  }

  #mutable(id: string, options?: Guard): Row {
    if (this.#collection.definition.appendOnly) throw new Error(`${this.#collection.name} is append-only`);
    return this.#expected(id, options);
  }

  #change(current: Row, change: Change<Row>, kept: object): Row {
    const merged: Record<string, unknown> = { ...current };
    for (const [member, value] of Object.entries(change)) {
      if (value === undefined || BOOKKEEPING.includes(member)) continue;
      if (value === null) delete merged[member];
      else merged[member] = value;
    }
    const next = this.#parse(merged);
    if (isDeepStrictEqual(next, current)) return current;
    const row = Object.freeze({ ...next, ...kept });
    this.#stage(row.id, row);
    return row;
  }

  /** Refuses a record that does not fit its schema, because the next start could not read it. */
  #parse(record: Record<string, unknown>): Row {
    const { name, definition } = this.#collection;
    const parsed = compiled(definition.schema).safeParse(record);
    if (!parsed.success) throw new Error(`a record does not fit the schema of ${name}: ${parsed.error.message}`);
    // Every collection's schema has `id` and `createdAt`.
    return frozenCopy(parsed.data) as Row;
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

  /** The record that has this key of the unique rule with this index. */
  #holder(at: number, key: string | undefined): string | undefined {
    if (key === undefined) return undefined;
    const staged = this.#holders[at]?.get(key);
    if (staged !== undefined) return staged;
    const committed = this.#collection.uniques[at]?.holder(key);
    return committed !== undefined && !this.changes.has(committed) ? committed : undefined;
  }
}
