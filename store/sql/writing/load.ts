import type { RowType } from '../../../resources/imported-rows.ts';
import { isStated } from '../../rows/records.ts';
import type { RowBatch, SqlConnection } from '../../rows-port.ts';
import { rebuildTable, type Touched } from '../derived-table.ts';
import { derivedTables } from '../derived-tables.ts';
import { rawTables } from '../raw-tables.ts';
import { writeFirst } from './plain-rows.ts';
import { datedRows, eraseRowsOf, putRows } from './put.ts';
import { writeStated } from './stated-rows.ts';
import { TouchedTables } from './touched.ts';

/** Rows as they were imported, or users whose rows were removed then. */
export type LoadedPart = RowBatch | { readonly erased: readonly string[] };

const TOUCHING: Readonly<Record<Touched, readonly RowType[]>> = {
  visitors: ['visits'],
  events: ['events'],
  subscriptions: ['subscriptions'],
  customers: ['subscriptions'],
  websites: ['websites'],
};

/** Replaces all rows by these, within a transaction. */
export async function loadRows(
  writer: SqlConnection,
  parts: Iterable<LoadedPart> | AsyncIterable<LoadedPart>,
  nextSeq: () => number,
): Promise<void> {
  for (const table of Object.keys(rawTables)) await writer.run(`delete from ${table}`);
  const touched = new TouchedTables(writer);
  const known = new Set<RowType>();
  for await (const part of parts) {
    // Erasing removes rows and what they touched. All derived tables are rebuilt, so what earlier parts touched does not matter.
    await touched.forget();
    if ('erased' in part) await eraseRowsOf(writer, part.erased, touched);
    else if (known.has(part.type)) await putRows(writer, part, { touched, nextSeq });
    else await putFirst(writer, part, nextSeq);
    if ('type' in part) known.add(part.type);
  }
  await touched.forget();
  for (const table of derivedTables) {
    const isEmpty = !table.follows.some((keys) => TOUCHING[keys].some((type) => known.has(type)));
    await rebuildTable(writer, isEmpty ? { ...table, rebuild: [] } : table);
  }
}

async function putFirst(writer: SqlConnection, batch: RowBatch, nextSeq: () => number): Promise<void> {
  const { type, rows } = batch;
  if (isStated(type)) await writeStated(writer, type, datedRows(batch), true);
  else await writeFirst(writer, type, rows, nextSeq);
}
