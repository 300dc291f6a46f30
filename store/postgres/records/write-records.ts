import type { CollectionName } from '../../collections.ts';
import { UniqueTaken } from '../../errors.ts';
import type { Row } from '../../row.ts';
import { Conflict } from '../failures.ts';
import type { BatchedStatement } from '../session.ts';
import { wordsOf } from '../text/words.ts';
import { allOf, isStorable, type Reading, Values } from './query.ts';
import { snake, type Table, uniqueHash } from './tables.ts';

interface Written {
  /** The number of the transaction, by which its outcome can be asked for. */
  readonly xid: string;
}
const XID = 'pg_current_xact_id()::text as xid';

export interface Writing extends Reading {
  wrote(collection: CollectionName, words: readonly string[]): void;
}

export async function insertRecord(table: Table, row: Row, reading: Writing): Promise<string> {
  const cells = cellsOf(table, row, reading);
  const names = ['id', 'created_at', ...cells.map(({ name }) => name)];
  const values = [row.id, row.createdAt, ...cells.map(({ value }) => value)];
  const places = [...'$1 $2'.split(' '), ...cells.map(({ type }, at) => `$${at + 3}::${type}`)];
  const statement = {
    name: `insert ${table.name}`,
    text: `insert into ${table.sql} (${names.join(', ')}) values (${places.join(', ')}) on conflict do nothing returning ${XID}`,
    values,
  };
  for (const isLast of [false, true]) {
    const [written] = await reading.session.query<Written>(statement);
    if (written) return written.xid;
    await makeWay(table, row, reading, isLast);
  }
  throw new Conflict(`${table.name}: another transaction wrote ${row.id}`);
}

export async function replaceRecord(table: Table, before: Row, row: Row, reading: Writing): Promise<string> {
  const moved = table.uniques.filter((unique) => {
    const hash = uniqueHash(unique, row);
    return hash && !uniqueHash(unique, before)?.equals(hash);
  });
  for (const unique of moved) {
    const holder = await holderOf(table, unique, row, reading);
    if (holder !== undefined) throw new UniqueTaken(table.name, unique.rule.fields, holder);
  }
  const cells = cellsOf(table, row, reading);
  const [written] = await reading.session.query<Written>({
    name: `update ${table.name}`,
    text: `update ${table.sql} set ${cells.map(({ name, type }, at) => `${name} = $${at + 2}::${type}`).join(', ')} where id = $1 returning ${XID}`,
    values: [row.id, ...cells.map(({ value }) => value)],
  });
  if (!written) throw new Conflict(`${table.name}: another transaction removed ${row.id}`);
  return written.xid;
}

export async function deleteRecord(table: Table, id: string, { session }: Reading): Promise<string> {
  const [written] = await session.query<Written>({
    name: `delete ${table.name}`,
    text: `delete from ${table.sql} where id = $1 returning ${XID}`,
    values: [id],
  });
  if (!written) throw new Conflict(`${table.name}: another transaction removed ${id}`);
  return written.xid;
}

interface Cell {
  readonly name: string;
  readonly value: unknown;
  readonly type: 'json' | 'bytea' | 'tsvector' | 'integer';
}

/** What is written of a record, the record itself first. The columns of members follow from it. */
function cellsOf(table: Table, row: Row, reading: Writing): Cell[] {
  const { search } = table.definition;
  const words = search && wordsOf(search, row);
  if (words) reading.wrote(table.name, words.terms);
  return [
    { name: 'record', value: jsonOf(row), type: 'json' },
    ...table.uniques.map((unique) => ({ name: unique.name, value: uniqueHash(unique, row), type: 'bytea' as const })),
    ...(words
      ? [
          { name: 'words', value: words.vector, type: 'tsvector' as const },
          { name: 'words_length', value: words.length, type: 'integer' as const },
        ]
      : []),
  ];
}

/** @throws where PostgreSQL could not look into the text later */
function jsonOf(row: Row): string {
  const json = JSON.stringify(row);
  if (json.includes('\\u') && !isStorable(textsIn(row))) {
    throw new Error(`the record ${row.id} has a text with a NUL character or half a character`);
  }
  return json;
}

function textsIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([name, item]) => `${name} ${textsIn(item)}`)
    .join(' ');
}

/** Removes expired records that are in the way of a new one. @throws where others are */
async function makeWay(table: Table, row: Row, reading: Reading, isLast: boolean): Promise<void> {
  if (table.expires && !isLast) {
    const values = new Values();
    const held = table.uniques.map(({ name }, at) => {
      const unique = table.uniques[at];
      return `${name} = ${values.add(unique ? uniqueHash(unique, row) : null)}`;
    });
    const same = [`id = ${values.add(row.id)}`, ...held].join(' or ');
    const text = `delete from ${table.sql} where expires_instant <= ${values.add(reading.now())} and (${same}) returning id`;
    if ((await reading.session.query({ text, values: values.all })).length > 0) return;
  }
  const text = `select 1 from ${table.sql} where id = $1`;
  const isTaken = (await reading.session.query({ text, values: [row.id] })).length > 0;
  if (isTaken) throw new Error(`${table.name} has a record ${row.id} already`);
  for (const unique of table.uniques) {
    const holder = await holderOf(table, unique, row, reading);
    if (holder !== undefined) throw new UniqueTaken(table.name, unique.rule.fields, holder);
  }
}

async function holderOf(
  table: Table,
  unique: Table['uniques'][number],
  row: Row,
  { session, now }: Reading,
): Promise<string | undefined> {
  const hash = uniqueHash(unique, row);
  if (!hash) return undefined;
  const parts = [`${unique.name} = $1`, 'id <> $2'];
  if (table.expires) {
    const text = `delete from ${table.sql} where ${allOf([...parts, 'expires_instant <= $3'])}`;
    await session.query({ text, values: [hash, row.id, now()] });
  }
  const text = `select id from ${table.sql} where ${allOf(parts)}`;
  const [holder] = await session.query<{ id: string }>({ text, values: [hash, row.id] });
  return holder?.id;
}

interface ManyWriting extends Writing {
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
