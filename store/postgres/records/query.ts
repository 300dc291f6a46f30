import type { Cursor, Page, Part, Scalar, Sort } from '../../port.ts';
import { deepFreeze, type Row } from '../../row.ts';
import { partForm } from '../../search-text.ts';
import { cursorOf } from '../../sort-key.ts';
import type { Session } from '../session.ts';
import { type Column, ownerOf, type Table } from './tables.ts';

export class Values {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    this.all.push(value);
    return `$${this.all.length}`;
  }
}

export interface AnyFilter {
  readonly where?: AnyWhere | undefined;
  readonly any?: readonly AnyWhere[] | undefined;
  readonly part?: Part | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface AnyCount extends AnyFilter {
  readonly owner?: AnyFilter | undefined;
}

type AnyWhere = Readonly<Record<string, Scalar | readonly Scalar[] | undefined>>;

export interface AnyQuery extends AnyFilter {
  readonly order?: 'newest' | 'oldest' | undefined;
  readonly sort?: Sort<string> | undefined;
  readonly limit: number;
  readonly after?: Cursor | undefined;
}

/** The conditions of a filter, joined by `and`. `prefix` names the table where a statement has several, as `t.`. */
export function conditions(table: Table, filter: AnyFilter, values: Values, prefix = ''): string[] {
  const { where, any, part, from, to } = filter;
  return [
    ...(where ? [clause(table, where, values, prefix)] : []),
    ...(any ? [either(any.map((one) => clause(table, one, values, prefix)))] : []),
    ...(part ? [holds(table, part, values, prefix)] : []),
    ...(from === undefined ? [] : [`${prefix}created_at >= ${values.add(from)}`]),
    ...(to === undefined ? [] : [`${prefix}created_at < ${values.add(to)}`]),
  ];
}

/** Records that expired are there until they are removed, and no read finds them. */
export function unexpired({ expires }: Table, now: Date, values: Values, prefix = ''): string[] {
  if (!expires) return [];
  return [`(${prefix}expires_instant is null or ${prefix}expires_instant > ${values.add(now)})`];
}

export function allOf(parts: readonly string[]): string {
  return parts.length > 0 ? parts.join(' and ') : 'true';
}

/** A text of PostgreSQL can hold it. No record has another. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function clause(table: Table, where: AnyWhere, values: Values, prefix: string): string {
  const parts = Object.entries(where).flatMap(([member, wanted]) =>
    wanted === undefined ? [] : [condition(table, member, [wanted].flat(), values, prefix)],
  );
  return allOf(parts);
}

function either(parts: readonly string[]): string {
  return parts.length > 0 ? `(${parts.map((part) => `(${part})`).join(' or ')})` : 'false';
}

/** By a collation of ICU, because Node.js makes lower case by the same tables. */
function holds(table: Table, { members, text }: Part, values: Values, prefix: string): string {
  const form = partForm(text);
  if (!isStorable(form)) return 'false';
  const place = values.add(form);
  return either(
    members.map((member) => {
      const column = table.columns.get(member);
      if (!column) throw new Error(`${table.name}: parts of ${member} need a column for it`);
      return `strpos(lower(${prefix}${column.name} collate "und-x-icu"), ${place}::text) > 0`;
    }),
  );
}

function condition(table: Table, member: string, wanted: readonly Scalar[], values: Values, prefix: string): string {
  const storable = wanted.filter((value) => typeof value !== 'string' || isStorable(value));
  const column = table.columns.get(member);
  if (!column) {
    const json = storable.map((value) => JSON.stringify(value));
    return `agent_admin_has(${prefix}record -> ${values.add(member)}::text, ${values.add(json)}::jsonb[])`;
  }
  return among(column, storable, values, prefix);
}

function among({ name, type }: Column, wanted: readonly Scalar[], values: Values, prefix: string): string {
  const of = type === 'double precision' ? 'number' : type === 'boolean' ? 'boolean' : 'string';
  const [first, ...others] = wanted.filter((value) => typeof value === of);
  if (first === undefined) return 'false';
  if (type === 'text[]') return `${prefix}${name} && ${values.add([first, ...others])}::text[]`;
  if (others.length === 0) return `${prefix}${name} = ${values.add(first)}::${type}`;
  return `${prefix}${name} = any (${values.add([first, ...others])}::${type}[])`;
}

export interface Reading {
  readonly session: Session;
  readonly now: () => Date;
  /** The table is of what decides about callers, which is found by its indexes. */
  readonly findsCredentials?: boolean;
}

const FEW = 10;

interface StoredRow {
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
  const { after, limit, sort } = query;
  const values = new Values();
  const column = sort ? sortColumn(table, sort) : 'created_at';
  const isDescending = sort ? sort.isDescending : query.order !== 'oldest';
  const [direction, beyond] = isDescending ? [' desc', '<'] : ['', '>'];
  const parts = [...conditions(table, query, values), ...unexpired(table, now(), values)];
  const from = after && [sort ? after.sortKey : after.createdAt, after.id].map((value) => values.add(value));
  if (from) parts.push(`(${column}, id) ${beyond} (${from.join(', ')})`);
  const text = `select record from ${table.sql} where ${allOf(parts)}
    order by ${column}${direction}, id${direction} limit ${values.add(limit + 1)}`;
  const found = await session.query<StoredRow>({ text, values: values.all, isQuick: findsCredentials && limit <= FEW });
  const records = found.slice(0, limit).map(({ record }) => deepFreeze(record));
  const last = records.at(-1);
  return { records, next: found.length > limit && last ? cursorOf(last, sort) : null };
}

function sortColumn({ name, sorts }: Table, { by }: Sort<string>): string {
  const column = sorts.get(by);
  if (!column) throw new Error(`${name} does not sort by ${by}`);
  return column;
}

export async function idsOf(
  table: Table,
  filter: AnyCount,
  limit: number,
  { session, now }: Reading,
): Promise<string[]> {
  const values = new Values();
  const admitted = admits(table, filter, now(), values);
  const text = `select id from ${table.sql} where ${admitted} limit ${values.add(limit)}`;
  return (await session.query<{ id: string }>({ text, values: values.all })).map(({ id }) => id);
}

export async function countRecords(table: Table, filter: AnyCount, { session, now }: Reading): Promise<number> {
  const values = new Values();
  const text = `select count(*)::integer as count from ${table.sql} where ${admits(table, filter, now(), values)}`;
  const [found] = await session.query<{ count: number }>({ text, values: values.all });
  return found?.count ?? 0;
}

function admits(table: Table, filter: AnyCount, now: Date, values: Values): string {
  const parts = [...conditions(table, filter, values), ...unexpired(table, now, values)];
  if (filter.owner) parts.push(isOwned(table, filter.owner, now, values));
  return allOf(parts);
}

function isOwned(table: Table, filter: AnyFilter, now: Date, values: Values): string {
  const owner = ownerOf(table);
  if (!owner) throw new Error(`records of ${table.name} belong to no others`);
  const parts = [...conditions(owner.table, filter, values), ...unexpired(owner.table, now, values)];
  return `${owner.column} in (select id from ${owner.table.sql} where ${allOf(parts)})`;
}
