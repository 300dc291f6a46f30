import { setImmediate } from 'node:timers/promises';
import type { TableRow } from '../../rows/records.ts';
import type { SqlConnection } from '../../rows-port.ts';
import { type ColumnType, decoded, listOf } from '../lists.ts';
import { quoted } from '../raw-tables.ts';

const AT_ONCE = 2000;

/** Adds the rows to the table, by one text for each column. The first column must not be absent. */
export async function insertRows(
  connection: SqlConnection,
  table: string,
  columns: Readonly<Record<string, ColumnType>>,
  rows: readonly TableRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const names = Object.keys(columns);
  const lists = names.map(() => [] as string[]);
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    if (from > 0) await setImmediate();
    const part = rows.slice(from, from + AT_ONCE);
    for (const [at, name] of names.entries()) lists[at]?.push(listOf(part.map((row) => row[name] ?? undefined)));
  }
  await connection.run(
    insertion(table, columns),
    lists.map((list) => list.join('\x1f')),
  );
}

const insertions = new Map<string, string>();

function insertion(table: string, columns: Readonly<Record<string, ColumnType>>): string {
  const found = insertions.get(table);
  if (found !== undefined) return found;
  const names = Object.keys(columns);
  const lists = names.map((_, at) => `unnest(string_to_array($${at + 1}, chr(31))) as c${at}`);
  const values = Object.values(columns).map((type, at) => decoded(`c${at}`, type));
  const sql = `insert into ${table} (${names.map(quoted).join(', ')}) select ${values.join(', ')} from (select ${lists.join(', ')}) as encoded`;
  insertions.set(table, sql);
  return sql;
}

export interface Counts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
}
