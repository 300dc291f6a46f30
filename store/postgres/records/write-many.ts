import type { Row } from '../../row.ts';
import type { BatchedStatement } from '../batched-writes.ts';
import { Conflict } from '../failures.ts';
import { snake, type Table } from './tables.ts';
import { type Cell, cellsOf, insertRecord, type Writing, type Written, XID } from './write-record.ts';

/** Where many records are written. */
export interface ManyWriting extends Writing {
  /** A statement of the transaction has written, as this number says. */
  written(xid: string): void;
}

const MOST_ROWS = 1000;
const MOST_CHARACTERS = 4_000_000;

export interface Prepared {
  readonly row: Row;
  readonly cells: readonly Cell[];
}

export function prepared(table: Table, row: Row, writing: Writing): Prepared {
  return { row, cells: cellsOf(table, row, writing) };
}

/** Adds the records, many with each statement. @throws UniqueTaken */
export async function insertRecords(table: Table, rows: readonly Row[], writing: ManyWriting): Promise<void> {
  let waiting: Prepared[] = [];
  let characters = 0;
  for (const row of rows) {
    const each = prepared(table, row, writing);
    waiting.push(each);
    characters += String(each.cells[0]?.value).length;
    if (waiting.length < MOST_ROWS && characters < MOST_CHARACTERS) continue;
    await insertTogether(table, waiting, writing);
    waiting = [];
    characters = 0;
  }
  if (waiting.length > 0) await insertTogether(table, waiting, writing);
}

/** Records that another is in the way of come one by one, which says what is wrong. */
export async function insertTogether(table: Table, given: readonly Prepared[], writing: ManyWriting): Promise<void> {
  const { text, values } = insertionOf(table, given);
  const inserted = await writing.session.query<Written & { id: string }>({
    name: `insert many ${table.name}`,
    text: `${text(values.map((_, at) => `$${at + 1}`))} on conflict do nothing returning id, ${XID}`,
    values,
  });
  for (const { xid } of inserted.slice(0, 1)) writing.written(xid);
  const there = new Set(inserted.map(({ id }) => id));
  for (const { row } of given) if (!there.delete(row.id)) writing.written(await insertRecord(table, row, writing));
}

/** Adds the records as a part of a larger statement, which fails where another is in the way of one. */
export function insertionOf(table: Table, given: readonly Prepared[]): BatchedStatement {
  const columns = [
    { name: 'id', type: 'text', values: given.map(({ row }) => row.id) },
    { name: 'created_at', type: 'text', values: given.map(({ row }) => row.createdAt) },
    ...(given[0]?.cells ?? []).map(({ name, type }, at) => {
      return { name, type, values: given.map(({ cells }) => cells[at]?.value) };
    }),
  ];
  return {
    name: `new_${snake(table.name)}`,
    text: (places) => `insert into ${table.sql} (${columns.map(({ name }) => name).join(', ')})
      select * from unnest(${columns.map(({ type }, at) => `${places[at]}::${type}[]`).join(', ')})`,
    values: columns.map(({ values }) => values),
  };
}

/** Removes records that are there, many with each statement. */
export async function deleteRecords(table: Table, ids: readonly string[], writing: ManyWriting): Promise<void> {
  for (let at = 0; at < ids.length; at += MOST_ROWS) {
    const some = ids.slice(at, at + MOST_ROWS);
    const removed = await writing.session.query<Written>({
      name: `delete many ${table.name}`,
      text: `delete from ${table.sql} where id = any ($1::text[]) returning ${XID}`,
      values: [some],
    });
    for (const { xid } of removed.slice(0, 1)) writing.written(xid);
    if (removed.length < some.length)
      throw new Conflict(`${table.name}: another transaction removed some of the records`);
  }
}
