import { isStated, plainTypes, statedTables } from '../../rows/records.ts';
import { keyOf, withDerivedColumns } from '../../rows/table-rows.ts';
import type { RawRows, RowBatch, SqlConnection } from '../../rows-port.ts';
import { itemsOf, listOf } from '../lists.ts';
import { rawTables } from '../raw-tables.ts';
import { type Counts, insertRows } from './batch.ts';
import { comparePlain, writePlain } from './plain-rows.ts';
import { compareStated, writeStated } from './stated-rows.ts';
import { TouchedTables } from './touched.ts';

export function datedRows({ rows, at }: RowBatch) {
  const all = typeof at === 'string' ? Date.parse(at) : undefined;
  return rows.map((row, index) => ({ row, importedMs: all ?? Date.parse(at[index] ?? '') }));
}

/** Writes the rows of an import and renews what follows from them. `nextSeq`: the next place in the order of arrival. */
export async function importRows(writer: SqlConnection, batch: RowBatch, nextSeq: () => number): Promise<Counts> {
  const touched = new TouchedTables(writer);
  const counts = await putRows(writer, batch, { touched, nextSeq });
  await touched.renew();
  return counts;
}

export async function putRows(
  writer: SqlConnection,
  { type, rows, at }: RowBatch,
  { touched, nextSeq }: { readonly touched: TouchedTables; readonly nextSeq: () => number },
): Promise<Counts> {
  if (!isStated(type)) {
    const counts = await writePlain(writer, type, rows, nextSeq);
    await touched.ofPlain(type);
    return counts;
  }
  const written = await writeStated(writer, type, datedRows({ type, rows, at }));
  await touched.ofStated(type, written.touched);
  return written;
}

export async function countRows(connection: SqlConnection, { type, rows, at }: RowBatch): Promise<Counts> {
  const compared = isStated(type)
    ? await compareStated(connection, type, datedRows({ type, rows, at }))
    : await comparePlain(connection, type, rows, () => 0);
  return compared.counts;
}

export async function countStored(connection: SqlConnection, { table, rows }: RawRows): Promise<Counts> {
  const key = keyOf(table);
  const sql = `select count(*) as known from ${table} where ${key} in (select item from ${itemsOf('$1')} as items)`;
  const keys = new Set(rows.map((row) => String(row[key])));
  const [found] = await connection.query<{ known: number }>({ name: `known rows of ${table}`, sql }, [listOf(keys)]);
  const updated = found?.known ?? 0;
  return { created: rows.length - updated, updated, unchanged: 0 };
}

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

/** Removes all rows of the users, and renews what followed from them. */
export async function eraseUsers(writer: SqlConnection, uids: readonly string[]): Promise<void> {
  const touched = new TouchedTables(writer);
  await eraseRowsOf(writer, uids, touched);
  await touched.renew();
}

/** Removes all rows of the users, and all statements about records that are theirs now. */
export async function eraseRowsOf(
  writer: SqlConnection,
  uids: readonly string[],
  touched: TouchedTables,
): Promise<void> {
  const users = [listOf(uids)];
  const theirs = `uid in (select item from ${itemsOf('$1')} as items)`;
  await touched.select('visitors', `select distinct visitor from visits where ${theirs}`, users);
  await touched.select('customers', `select item from ${itemsOf('$1')} as items`, users);
  for (const type of ['subscriptions', 'websites'] as const) {
    const table = statedTables[type];
    const last = `place = (select max(place) from ${table} as other where other.id = ${table}.id)`;
    await touched.select(type, `select id from ${table} where ${theirs} and ${last}`, users);
    if (type === 'subscriptions') {
      const former = `select distinct uid from ${table} where id in (select id from touched_subscriptions)`;
      await touched.select('customers', `${former} and not (${theirs})`, users);
    }
    await writer.run(`delete from ${table} where id in (select id from touched_${type})`);
  }
  for (const table of plainTypes) await writer.run(`delete from ${table} where ${theirs}`, users);
}
