import { keyOf, withDerivedColumns } from '../../rows/table-rows.ts';
import type { RawRows } from '../../rows-port.ts';
import type { SqlConnection } from '../connection.ts';
import { itemsOf, listOf } from '../lists.ts';
import { rawTables } from '../raw-tables.ts';
import { insertRows } from './batch.ts';
import type { Counts } from './counts.ts';

/** Says what restoring the rows would change. */
export async function countStored(connection: SqlConnection, { table, rows }: RawRows): Promise<Counts> {
  const key = keyOf(table);
  const sql = `select count(*) as known from ${table} where ${key} in (select item from ${itemsOf('$1')} as items)`;
  const keys = new Set(rows.map((row) => String(row[key])));
  const [found] = await connection.query<{ known: number }>({ name: `known rows of ${table}`, sql }, [listOf(keys)]);
  const updated = found?.known ?? 0;
  return { created: rows.length - updated, updated, unchanged: 0 };
}

/** Puts the rows in place of those with their keys. */
export async function restoreRows(writer: SqlConnection, kept: RawRows): Promise<Counts> {
  const { table, rows } = kept;
  const key = keyOf(table);
  const keys = new Set(rows.map((row) => String(row[key])));
  const replaced = await writer.run(
    `delete from ${table} where ${key} in (select item from ${itemsOf('$1')} as items)`,
    [listOf(keys)],
  );
  await insertRows(writer, table, rawTables[table], withDerivedColumns(kept));
  return { created: rows.length - replaced, updated: replaced, unchanged: 0 };
}
