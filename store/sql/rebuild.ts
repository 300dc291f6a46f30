import type { SqlConnection } from './connection.ts';
import type { DerivedTable } from './derived-table.ts';

/** Makes the table anew, within a transaction. */
export async function rebuildTable(
  writer: SqlConnection,
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

async function countOf(connection: SqlConnection, table: string): Promise<number> {
  const [found] = await connection.query<{ rows: number }>({
    name: `size of ${table}`,
    sql: `select count(*) as rows from ${table}`,
  });
  return found?.rows ?? 0;
}
