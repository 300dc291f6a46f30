import type { CollectionName } from '../../collections.ts';
import { UniqueTaken } from '../../errors.ts';
import type { Row } from '../../row.ts';
import { Conflict } from '../failures.ts';
import { wordsOf } from '../text/words.ts';
import { allOf, isStorable, Values } from './filters.ts';
import type { Reading } from './read-records.ts';
import { type Table, uniqueHash } from './tables.ts';

export interface Written {
  /** The number of the transaction, by which its outcome can be asked for. */
  readonly xid: string;
}
export const XID = 'pg_current_xact_id()::text as xid';

/** Where records are written. */
export interface Writing extends Reading {
  /** A record with these words was written. */
  wrote(collection: CollectionName, words: readonly string[]): void;
}

/** Adds the record and returns the number of the transaction. @throws UniqueTaken */
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

/** Replaces the record and returns the number of the transaction. @throws UniqueTaken */
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

export interface Cell {
  readonly name: string;
  readonly value: unknown;
  readonly type: 'json' | 'bytea' | 'tsvector' | 'integer';
}

/** What is written of a record, the record itself first. The columns of members follow from it. */
export function cellsOf(table: Table, row: Row, reading: Writing): Cell[] {
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

/** The other record that has the same unique value. An expired one gives it up. */
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
