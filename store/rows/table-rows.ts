import { importedRows, type RowType } from '../../resources/imported-rows.ts';
import type { RawRows } from '../rows-port.ts';
import { quoted, type RawTable, rawTables } from '../sql/raw-tables.ts';
import { plainTypes, recordOf, rowOf, statedTables, type TableRow } from './records.ts';

const DERIVED = ['person', 'visitor', 'searched'];

const stated = Object.entries(statedTables) as [RowType, RawTable][]; // its own members
const types = new Map<RawTable, RowType>([...plainTypes.map((type) => [type, type] as const), ...stated.map(turned)]);

function turned([type, table]: [RowType, RawTable]): [RawTable, RowType] {
  return [table, type];
}

function typeOf(table: RawTable): RowType {
  const type = types.get(table);
  if (!type) throw new Error(`${table} is not a table of imported rows`);
  return type;
}

/** The column that names the record of a row: its key, or in a table of statements that of the record they are about. */
export const keyOf = (table: RawTable): string => importedRows[typeOf(table)].key;

export function storedColumns(table: RawTable): string[] {
  return Object.keys(rawTables[table]).filter((column) => !DERIVED.includes(column));
}

export function withDerivedColumns({ table, rows }: RawRows): TableRow[] {
  const type = typeOf(table);
  return rows.map((row) => ({ ...recordOf(type, rowOf(type, row)), ...row }));
}

/** The first place in the order of arrival after those of the rows. */
export function nextSeqAfter({ rows }: RawRows): number {
  return rows.reduce((next, { seq }) => Math.max(next, Number(seq ?? -1) + 1), 0);
}

/** Selects a page in the order of `orderOf`, after the place in $1 (and $2, for statements). The last parameter is the limit. */
export function selectPage(table: RawTable, isFirst: boolean): string {
  const columns = storedColumns(table).map(quoted).join(', ');
  const order = orderOf(table);
  const places = order.map((_, at) => `$${at + 1}`);
  const after = isFirst ? '' : `where (${order.join(', ')}) > (${places.join(', ')})`;
  return `select ${columns} from ${table} ${after} order by ${order.join(', ')} limit $${isFirst ? 1 : order.length + 1}`;
}

/** The columns that sort the rows of a table, each row in its own place. Where there is an order of arrival, it is that one. */
export function orderOf(table: RawTable): readonly string[] {
  if ('seq' in rawTables[table]) return ['seq'];
  return 'place' in rawTables[table] ? [keyOf(table), 'place'] : [keyOf(table)];
}
