import type { Page } from '../../port.ts';
import { deepFreeze, type Row } from '../../row.ts';
import type { Session } from '../session.ts';
import {
  type AnyCount,
  type AnyFilter,
  type AnyQuery,
  allOf,
  conditions,
  isStorable,
  unexpired,
  Values,
} from './filters.ts';
import { ownerOf, type Table } from './tables.ts';

/** Reads records of one table, in a transaction or not. */
export interface Reading {
  readonly session: Session;
  readonly now: () => Date;
  /** The table is of what decides about callers, which is found by its indexes. */
  readonly findsCredentials?: boolean;
}

/** More records than these are a list. */
const FEW = 10;

export interface StoredRow {
  readonly record: Row;
}

export async function readOne(table: Table, id: string, { session, now }: Reading): Promise<Row | undefined> {
  if (!isStorable(id)) return undefined;
  const text = `select record from ${table.sql} where id = $1`;
  const expiry = table.expires ? ' and (expires_instant is null or expires_instant > $2)' : '';
  const values = table.expires ? [id, now()] : [id];
  const [found] = await session.query<StoredRow>({
    name: `get ${table.name}`,
    text: text + expiry,
    values,
    isQuick: true,
  });
  return found && deepFreeze(found.record);
}

export async function readPage(
  table: Table,
  query: AnyQuery,
  { session, now, findsCredentials = false }: Reading,
): Promise<Page<Row>> {
  const { after, limit } = query;
  const values = new Values();
  const [direction, beyond] = query.order === 'oldest' ? ['', '>'] : [' desc', '<'];
  const parts = [...conditions(table, query, values), ...unexpired(table, now(), values)];
  if (after) parts.push(`(created_at, id) ${beyond} (${values.add(after.createdAt)}, ${values.add(after.id)})`);
  const text = `select record from ${table.sql} where ${allOf(parts)}
    order by created_at${direction}, id${direction} limit ${values.add(limit + 1)}`;
  const found = await session.query<StoredRow>({ text, values: values.all, isQuick: findsCredentials && limit <= FEW });
  const records = found.slice(0, limit).map(({ record }) => deepFreeze(record));
  const last = records.at(-1);
  return { records, next: found.length > limit && last ? { createdAt: last.createdAt, id: last.id } : null };
}

export async function countRecords(table: Table, filter: AnyCount, { session, now }: Reading): Promise<number> {
  const values = new Values();
  const parts = [...conditions(table, filter, values), ...unexpired(table, now(), values)];
  if (filter.owner) parts.push(isOwned(table, filter.owner, now(), values));
  const text = `select count(*)::integer as count from ${table.sql} where ${allOf(parts)}`;
  const [found] = await session.query<{ count: number }>({ text, values: values.all });
  return found?.count ?? 0;
}

function isOwned(table: Table, filter: AnyFilter, now: Date, values: Values): string {
  const owner = ownerOf(table);
  if (!owner) throw new Error(`records of ${table.name} belong to no others`);
  const parts = [...conditions(owner.table, filter, values), ...unexpired(owner.table, now, values)];
  return `${owner.column} in (select id from ${owner.table.sql} where ${allOf(parts)})`;
}
