import { importedRows } from '../../../resources/imported-rows.ts';
import { type ImportedRow, type PlainType, plainTypes, recordOf, type TableRow } from '../../rows/records.ts';
import type { SqlConnection } from '../../rows-port.ts';
import { createTable, rawTables } from '../raw-tables.ts';
import { type Counts, insertRows } from './batch.ts';

/** Tables of a connection: `batch_users` holds the rows to write, `old_users` those with their keys that are there. */
export async function createBatchTables(connection: SqlConnection): Promise<void> {
  for (const type of plainTypes) {
    for (const kind of ['batch', 'old'])
      await connection.run(createTable(`${kind}_${type}`, rawTables[type], 'temporary table'));
  }
}

export async function writeFirst(
  connection: SqlConnection,
  type: PlainType,
  rows: readonly ImportedRow[],
  nextSeq: () => number,
): Promise<void> {
  const { lasts } = byKey(rows, importedRows[type].key);
  await insertRows(connection, type, rawTables[type], lasts.map(recordsOf(type, nextSeq)));
}

function recordsOf(type: PlainType, nextSeq: () => number) {
  return (row: ImportedRow): TableRow =>
    'seq' in rawTables[type] ? { ...recordOf(type, row), seq: nextSeq() } : recordOf(type, row);
}

/** Replaces rows by key; among equal keys the last wins. The batch tables then hold the new and the replaced rows. */
export async function writePlain(
  connection: SqlConnection,
  type: PlainType,
  rows: readonly ImportedRow[],
  nextSeq: () => number,
): Promise<Counts> {
  const { counts, lasts } = await comparePlain(connection, type, rows, nextSeq);
  if (lasts.length > 0) await fill(connection, type, lasts);
  await replace(connection, type, importedRows[type].key);
  return counts;
}

export async function comparePlain(
  connection: SqlConnection,
  type: PlainType,
  rows: readonly ImportedRow[],
  nextSeq: () => number,
): Promise<{ readonly counts: Counts; readonly lasts: readonly TableRow[] }> {
  const key = importedRows[type].key;
  const { firsts, lasts, inside } = byKey(rows, key);
  const toRecord = recordsOf(type, nextSeq);
  await connection.run(`delete from old_${type}`);
  await fill(connection, type, firsts.map(toRecord));
  const known = await connection.run(
    `insert into old_${type} select * from ${type} where ${key} in (select ${key} from batch_${type})`,
  );
  await connection.filled?.(`old_${type}`, known);
  const [found = { created: 0, changed: 0 }] = await connection.query<{ created: number; changed: number }>({
    name: `count ${type}`,
    sql: `select count(*) filter (where old.${key} is null) as created,
      count(*) filter (where old.${key} is not null and (${differs(type)})) as changed
      from batch_${type} as batch left join old_${type} as old on old.${key} = batch.${key}`,
  });
  const { created } = found;
  const updated = found.changed + inside;
  return {
    counts: { created, updated, unchanged: rows.length - created - updated },
    lasts: inside > 0 ? lasts.map(toRecord) : [],
  };
}

async function fill(connection: SqlConnection, type: PlainType, records: readonly TableRow[]): Promise<void> {
  await connection.run(`delete from batch_${type}`);
  await insertRows(connection, `batch_${type}`, rawTables[type], records);
  await connection.filled?.(`batch_${type}`, records.length);
}

async function replace(connection: SqlConnection, type: PlainType, key: string): Promise<void> {
  const same = await connection.run(
    `delete from batch_${type} as batch using old_${type} as old where old.${key} = batch.${key} and not (${differs(type)})`,
  );
  if (same > 0) {
    await connection.run(`delete from old_${type} where ${key} not in (select ${key} from batch_${type})`);
  }
  const [old] = await connection.query<{ count: number }>({
    name: 'count old rows',
    sql: `select count(*) as count from old_${type}`,
  });
  if (old?.count) await connection.run(`delete from ${type} where ${key} in (select ${key} from old_${type})`);
  await connection.run(`insert into ${type} select * from batch_${type}`);
}

/** What follows from other columns, or differs in each import. */
const NOT_COMPARED = ['visitor', 'person', 'seq', 'searched'];

function differs(type: PlainType): string {
  const compared = Object.keys(rawTables[type]).filter((column) => !NOT_COMPARED.includes(column));
  return compared.map((column) => `old.${column} is distinct from batch.${column}`).join(' or ');
}

/** The first and the last row of each key, and how often a row changed the one before it. */
function byKey(rows: readonly ImportedRow[], key: string) {
  const firsts = new Map<unknown, ImportedRow>();
  const lasts = new Map<unknown, ImportedRow>();
  let inside = 0;
  for (const row of rows) {
    const before = lasts.get(row[key]);
    if (!before) firsts.set(row[key], row);
    else if (JSON.stringify(before) !== JSON.stringify(row)) inside += 1;
    lasts.set(row[key], row);
  }
  return { firsts: [...firsts.values()], lasts: [...lasts.values()], inside };
}
