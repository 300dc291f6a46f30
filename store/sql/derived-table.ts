import type { SqlConnection } from '../rows-port.ts';

/**
 * A table that follows from the imported rows. A write fills temporary tables (`touched_...`) with the keys that it touched, of old and new
 * owners alike; `renew` replaces the rows of these keys in its transaction. A rebuild gives the same rows.
 */
export interface DerivedTable {
  readonly name: string;
  readonly ddl: readonly string[];
  readonly follows: readonly Touched[];
  readonly renew: readonly string[];
  /** Makes all rows, into the empty table. `{slice}` and `{slices}` stand for numbers, to make them in several parts in little memory. */
  readonly rebuild: readonly string[];
  readonly slices?: number;
  readonly isConverted?: boolean;
}

export const touchedKeys = {
  visitors: { visitor: 'bigint' },
  events: { person: 'bigint', at_ms: 'bigint' },
  subscriptions: { id: 'text' },
  customers: { uid: 'text' },
  websites: { id: 'text' },
} as const;
export type Touched = keyof typeof touchedKeys;

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

const ROWS_OF_A_SLICE = 200_000;

async function countOf(connection: SqlConnection, table: string): Promise<number> {
  const [found] = await connection.query<{ rows: number }>({
    name: `size of ${table}`,
    sql: `select count(*) as rows from ${table}`,
  });
  return found?.rows ?? 0;
}
