import type { SqlConnection } from '../sql/connection.ts';

/** How many rows the table has, and a text that is the same for the same rows in any order. */
export async function digestOfTable(
  connection: SqlConnection,
  table: string,
): Promise<{ rows: number; digest: string }> {
  const [found] = await connection.query<{ rows: number; digest: string }>({
    name: `digest of ${table}`,
    sql: `select count(*) as rows, cast(sum(cast(hash(t) as hugeint)) as varchar) as digest from ${table} as t`,
  });
  return { rows: found?.rows ?? 0, digest: found?.digest ?? '' };
}
