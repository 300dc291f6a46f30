import type { DerivedTable } from '../sql/derived-table.ts';
import type { Connection } from './connection.ts';

/** Makes the table anew, within a transaction. */
export async function rebuildTable(writer: Connection, { name, rebuild, slices = 1 }: DerivedTable): Promise<void> {
  await writer.run(`delete from ${name}`);
  for (let slice = 0; slice < slices; slice += 1) {
    for (const sql of rebuild) {
      await writer.run(sql.replaceAll('{slices}', String(slices)).replaceAll('{slice}', String(slice)));
    }
  }
}

/** How many rows the table has, and a text that is the same for the same rows in any order. */
export async function digestOfTable(connection: Connection, table: string): Promise<{ rows: number; digest: string }> {
  const [found] = await connection.query<{ rows: number; digest: string }>({
    name: `digest of ${table}`,
    sql: `select count(*) as rows, cast(sum(cast(hash(t) as hugeint)) as varchar) as digest from ${table} as t`,
  });
  return { rows: found?.rows ?? 0, digest: found?.digest ?? '' };
}
