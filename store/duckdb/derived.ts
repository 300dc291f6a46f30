import type { DerivedTable } from '../sql/derived-table.ts';
import type { Connection } from './connection.ts';

/** Makes the table anew, within a transaction. */
export async function rebuildTable(
  writer: Connection,
  { name, rebuild, slices: most = 1 }: DerivedTable,
): Promise<void> {
  await writer.run(`delete from ${name}`);
  const slices = Math.min(most, Math.ceil((await countOf(writer, 'visits')) / ROWS_OF_A_SLICE) || 1);
  for (let slice = 0; slice < slices; slice += 1) {
    for (const sql of rebuild) {
      await writer.run(sql.replaceAll('{slices}', String(slices)).replaceAll('{slice}', String(slice)));
    }
  }
}

/** Few enough to be made in little memory. */
const ROWS_OF_A_SLICE = 200_000;

async function countOf(connection: Connection, table: string): Promise<number> {
  const [found] = await connection.query<{ rows: number }>({
    name: `size of ${table}`,
    sql: `select count(*) as rows from ${table}`,
  });
  return found?.rows ?? 0;
}

/** How many rows the table has, and a text that is the same for the same rows in any order. */
export async function digestOfTable(connection: Connection, table: string): Promise<{ rows: number; digest: string }> {
  const [found] = await connection.query<{ rows: number; digest: string }>({
    name: `digest of ${table}`,
    sql: `select count(*) as rows, cast(sum(cast(hash(t) as hugeint)) as varchar) as digest from ${table} as t`,
  });
  return { rows: found?.rows ?? 0, digest: found?.digest ?? '' };
}
