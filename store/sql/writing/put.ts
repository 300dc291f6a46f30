import { isStated } from '../../rows/records.ts';
import type { RowBatch } from '../../rows-port.ts';
import type { SqlConnection } from '../connection.ts';
import type { Counts } from './counts.ts';
import { comparePlain, writePlain } from './plain-rows.ts';
import { compareStated, writeStated } from './stated-rows.ts';
import type { TouchedTables } from './touched.ts';

interface PutContext {
  readonly touched: TouchedTables;
  /** The next place in the order of arrival. */
  readonly nextSeq: () => number;
}

/** Each row with the time of its import. */
export function datedRows({ rows, at }: RowBatch) {
  const all = typeof at === 'string' ? Date.parse(at) : undefined;
  return rows.map((row, index) => ({ row, importedMs: all ?? Date.parse(at[index] ?? '') }));
}

/** Writes the rows of an import, and notes what they touch. */
export async function putRows(
  writer: SqlConnection,
  { type, rows, at }: RowBatch,
  { touched, nextSeq }: PutContext,
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

/** Says what writing the rows would change. */
export async function countRows(connection: SqlConnection, { type, rows, at }: RowBatch): Promise<Counts> {
  const compared = isStated(type)
    ? await compareStated(connection, type, datedRows({ type, rows, at }))
    : await comparePlain(connection, type, rows, () => 0);
  return compared.counts;
}
