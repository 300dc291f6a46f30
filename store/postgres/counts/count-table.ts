import type { CollectionDefinition } from '../../collection-definition.ts';
import type { AnyFilter } from '../records/filters.ts';
import { type Column, CREATED_AT, snake, type Table } from '../records/tables.ts';

/** How many records of a collection there are for each combination of values. Filters read it like the table of the records themselves. */
export interface CountTable {
  /** Name of the table, in quotes. */
  readonly sql: string;
  /** The columns of the combination. `created_at` is the begin of a quarter of an hour. */
  readonly columns: readonly CountColumn[];
  /** The members that filters can name. */
  readonly members: ReadonlySet<string>;
  readonly quarters: boolean;
  /** Where the table also adds up bytes: how many a record takes, in SQL. */
  readonly bytes: string | undefined;
}

interface CountColumn extends Column {
  /** In SQL, where the table of the records has no such column. */
  readonly value?: string;
}

const QUARTER_MS = 15 * 60_000;

/** Undefined if the counts of the collection are not kept. */
export function countTableOf({ name, definition, columns }: Table): CountTable | undefined {
  const { counts }: Pick<CollectionDefinition, 'counts'> = definition;
  if (!counts) return undefined;
  const { by, quarters = false, bytes } = counts;
  const own = by.map((field) => columns.get(field) ?? unindexed(name, field, bytes !== undefined));
  return {
    // Another combination is another table, so processes of the version before continue.
    sql: `"${[snake(name), 'counts', ...by.map(snake), ...(quarters ? ['quarter'] : []), ...(bytes ? ['bytes'] : [])].join('_')}"`,
    columns: quarters ? [...own, CREATED_AT] : own,
    members: new Set(by.filter((field) => columns.has(field))),
    quarters,
    bytes: bytes && `coalesce((record ->> '${bytes.noted}')::bigint, octet_length(record ->> '${bytes.of}'))`,
  };
}

/** A member without a column of its own, which is read from the record: nothing but sizes may be asked by it. */
function unindexed(name: string, field: string, readsRecords: boolean): CountColumn {
  if (!readsRecords) throw new Error(`${name}: counts by ${field} need an index on it`);
  return { name: `"${snake(field)}"`, type: 'text', isLong: false, value: `(record ->> '${field}') collate "C"` };
}

/** Whether the count table knows what the filter asks for. */
export function knows(counts: CountTable, { where, any = [], part, from, to }: AnyFilter): boolean {
  if (part) return false;
  const members = [where ?? {}, ...any].flatMap((one) =>
    Object.keys(one).filter((member) => one[member] !== undefined),
  );
  if (!members.every((member) => counts.members.has(member))) return false;
  const limits = [from, to].filter((limit) => limit !== undefined);
  return limits.every((limit) => counts.quarters && beginsQuarter(limit));
}

function beginsQuarter(time: string): boolean {
  const at = Date.parse(time);
  return at % QUARTER_MS === 0 && new Date(at).toISOString() === time;
}
