import type { CollectionName } from '../../collections.ts';
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
import type { BatchedStatement } from '../session.ts';
import { type AnyCount, type AnyQuery, countRecords, readOne, readPage } from './query.ts';
import type { Table } from './tables.ts';
import {
  deleteRecord,
  deleteRecords,
  insertionOf,
  insertRecord,
  insertRecords,
  insertTogether,
  type Prepared,
  prepared,
  replaceRecord,
  type Writing,
} from './write-records.ts';

export interface WriterDeps extends Writing {
  /** Runs one call after the other, and none after the end of the transaction. */
  inOrder<Result>(call: () => Promise<Result>): Promise<Result>;
  written(xid: string): void;
  readonly writesLate: boolean;
}

/** Collections whose new records wait for the last statement: nobody else can be in their way. */
const LATE: ReadonlySet<CollectionName> = new Set(['versions']);
const MOST_LATE = 100;

export interface ChangedRecord {
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

export class TableWriter implements Writer<Row> {
  readonly changes = new Map<string, ChangedRecord>();
  readonly #table: Table;
  readonly #deps: WriterDeps;
  /** Records as they are for the transaction, which nobody else changes. */
  readonly #seen = new Map<string, Row | undefined>();
  #late: Prepared[] = [];

  constructor(table: Table, deps: WriterDeps) {
    this.#table = table;
    this.#deps = deps;
  }

  get(id: string): Promise<Row | undefined> {
    return this.#deps.inOrder(() => this.#current(id));
  }

  read(id: string): Promise<Row> {
    return this.#deps.inOrder(() => this.#expected(id));
  }

  get additions(): readonly BatchedStatement[] {
    return this.#late.length > 0 ? [insertionOf(this.#table, this.#late)] : [];
  }

  find(query: AnyQuery): Promise<Page<Row>> {
    return this.#afterLate(async () => {
      const page = await readPage(this.#table, query, this.#deps);
      for (const record of page.records) this.#seen.set(record.id, record);
      return page;
    });
  }

  first(query: Omit<AnyQuery, 'limit'>): Promise<Row | undefined> {
    return firstOf(this, query);
  }

  count(filter: AnyCount): Promise<number> {
    return this.#afterLate(() => countRecords(this.#table, filter, this.#deps));
  }

  insert(record: Partial<Row>): Promise<Row> {
    return this.#deps.inOrder(async () => {
      const row = newRecord(this.#table, record, this.#now());
      await this.#insert(row);
      this.#note(row.id, this.changes.get(row.id)?.before, row);
      return row;
    });
  }

  insertAll(records: readonly Partial<Row>[]): Promise<Row[]> {
    return this.#afterLate(async () => {
      const rows = records.map((record) => newRecord(this.#table, record, this.#now()));
      await insertRecords(this.#table, rows, this.#deps);
      for (const row of rows) this.#note(row.id, this.changes.get(row.id)?.before, row);
      return rows;
    });
  }

  update(id: string, change: Change<Row>, options?: Guard): Promise<Row> {
    return this.#deps.inOrder(async () => {
      const current = await this.#mutable(id, options);
      return this.#replace(current, updatedRecord(this.#table, current, change, this.#now()));
    });
  }

  touch(id: string, change: Change<Row>): Promise<Row> {
    return this.#deps.inOrder(async () => {
      const current = await this.#mutable(id);
      return this.#replace(current, touchedRecord(this.#table, current, change));
    });
  }

  delete(id: string, options?: Guard): Promise<Row> {
    return this.#afterLate(async () => {
      const row = await this.#expected(id, options);
      this.#deps.written(await deleteRecord(this.#table, id, this.#deps));
      this.#note(id, row, undefined);
      return row;
    });
  }

  deleteAll(ids: readonly string[]): Promise<Row[]> {
    return this.#afterLate(async () => {
      const left = new Set(ids);
      const rows: Row[] = [];
      for (const id of ids) {
        rows.push(expectedRecord(this.#table, id, left.delete(id) ? await this.#current(id) : undefined));
      }
      await deleteRecords(this.#table, ids, this.#deps);
      for (const row of rows) this.#note(row.id, row, undefined);
      return rows;
    });
  }

  async #insert(row: Row): Promise<void> {
    if (!this.#deps.writesLate || !LATE.has(this.#table.name)) {
      this.#deps.written(await insertRecord(this.#table, row, this.#deps));
      return;
    }
    if (this.#late.length >= MOST_LATE) await this.#writeLate();
    this.#late.push(prepared(this.#table, row, this.#deps));
  }

  #afterLate<Result>(call: () => Promise<Result>): Promise<Result> {
    return this.#deps.inOrder(async () => {
      await this.#writeLate();
      return call();
    });
  }

  async #writeLate(): Promise<void> {
    const late = this.#late;
    this.#late = [];
    if (late.length > 0) await insertTogether(this.#table, late, this.#deps);
  }

  async #current(id: string): Promise<Row | undefined> {
    if (this.#seen.has(id)) return this.#seen.get(id);
    const row = await readOne(this.#table, id, this.#deps);
    this.#seen.set(id, row);
    return row;
  }

  async #expected(id: string, options?: Guard): Promise<Row> {
    return expectedRecord(this.#table, id, await this.#current(id), options);
  }

  async #mutable(id: string, options?: Guard): Promise<Row> {
    assertMutable(this.#table);
    return this.#expected(id, options);
  }

  async #replace(current: Row, next: Row): Promise<Row> {
    if (next === current) return current;
    this.#deps.written(await replaceRecord(this.#table, current, next, this.#deps));
    this.#note(next.id, current, next);
    return next;
  }

  #note(id: string, before: Row | undefined, after: Row | undefined): void {
    const first = this.changes.get(id);
    this.changes.set(id, { before: first ? first.before : before, after });
    this.#seen.set(id, after);
  }

  #now(): string {
    return this.#deps.now().toISOString();
  }
}
