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
