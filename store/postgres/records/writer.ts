import type { Change, Guard, Page, Writer } from '../../port.ts';
import { assertMutable, expectedRecord, newRecord, touchedRecord, updatedRecord } from '../../record-change.ts';
import type { Row } from '../../row.ts';
import type { AnyCount, AnyQuery } from './filters.ts';
import { countRecords, readOne, readPage } from './reading.ts';
import type { Table } from './tables.ts';
import { deleteRecord, insertRecord, replaceRecord, type Writing } from './writing.ts';
import { deleteRecords, insertRecords } from './writing-many.ts';

/** What the writers of a transaction share. */
export interface WriterParts extends Writing {
  /** Runs one call after the other, and none after the end of the transaction. */
  inOrder<Result>(call: () => Promise<Result>): Promise<Result>;
  /** A statement of the transaction has written, as this number says. */
  written(xid: string): void;
}

/** A record as a transaction found it and as it leaves it. Undefined: there is none. */
export interface ChangedRecord {
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

/** Reads and writes the records of one collection in a transaction. */
export class TableWriter implements Writer<Row> {
  readonly changes = new Map<string, ChangedRecord>();
  readonly #table: Table;
  readonly #parts: WriterParts;
  /** Records as they are for the transaction, which nobody else changes. */
  readonly #seen = new Map<string, Row | undefined>();

  constructor(table: Table, parts: WriterParts) {
    this.#table = table;
    this.#parts = parts;
  }

  get(id: string): Promise<Row | undefined> {
    return this.#parts.inOrder(() => this.#current(id));
  }

  read(id: string): Promise<Row> {
    return this.#parts.inOrder(() => this.#expected(id));
  }

  find(query: AnyQuery): Promise<Page<Row>> {
    return this.#parts.inOrder(async () => {
      const page = await readPage(this.#table, query, this.#parts);
      for (const record of page.records) this.#seen.set(record.id, record);
      return page;
    });
  }

  count(filter: AnyCount): Promise<number> {
    return this.#parts.inOrder(() => countRecords(this.#table, filter, this.#parts));
  }

  insert(record: Partial<Row>): Promise<Row> {
    return this.#parts.inOrder(async () => {
      const row = newRecord(this.#table, record, this.#now());
      this.#parts.written(await insertRecord(this.#table, row, this.#parts));
      this.#note(row.id, this.changes.get(row.id)?.before, row);
      return row;
    });
  }

  insertAll(records: readonly Partial<Row>[]): Promise<Row[]> {
    return this.#parts.inOrder(async () => {
      const rows = records.map((record) => newRecord(this.#table, record, this.#now()));
      await insertRecords(this.#table, rows, this.#parts);
      for (const row of rows) this.#note(row.id, this.changes.get(row.id)?.before, row);
      return rows;
    });
  }

  update(id: string, change: Change<Row>, options?: Guard): Promise<Row> {
    return this.#parts.inOrder(async () => {
      const current = await this.#mutable(id, options);
      return this.#replace(current, updatedRecord(this.#table, current, change, this.#now()));
    });
  }

  touch(id: string, change: Change<Row>): Promise<Row> {
    return this.#parts.inOrder(async () => {
      const current = await this.#mutable(id);
      return this.#replace(current, touchedRecord(this.#table, current, change));
    });
  }

  delete(id: string, options?: Guard): Promise<Row> {
    return this.#parts.inOrder(async () => {
      const row = await this.#expected(id, options);
      this.#parts.written(await deleteRecord(this.#table, id, this.#parts));
      this.#note(id, row, undefined);
      return row;
    });
  }

  deleteAll(ids: readonly string[]): Promise<Row[]> {
    return this.#parts.inOrder(async () => {
      const left = new Set(ids);
      const rows: Row[] = [];
      for (const id of ids) {
        rows.push(expectedRecord(this.#table, id, left.delete(id) ? await this.#current(id) : undefined));
      }
      await deleteRecords(this.#table, ids, this.#parts);
      for (const row of rows) this.#note(row.id, row, undefined);
      return rows;
    });
  }

  async #current(id: string): Promise<Row | undefined> {
    if (this.#seen.has(id)) return this.#seen.get(id);
    const row = await readOne(this.#table, id, this.#parts);
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
    this.#parts.written(await replaceRecord(this.#table, current, next, this.#parts));
    this.#note(next.id, current, next);
    return next;
  }

  #note(id: string, before: Row | undefined, after: Row | undefined): void {
    const first = this.changes.get(id);
    this.changes.set(id, { before: first ? first.before : before, after });
    this.#seen.set(id, after);
  }

  #now(): string {
    return this.#parts.now().toISOString();
  }
}
