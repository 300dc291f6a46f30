import type { CountQuery, Page, Part, Query, Scalar, Where } from '../../port.ts';
import type { Row } from '../../row.ts';
import { partForm } from '../../search-text.ts';
import { comparePositions, OrderedSet } from '../ordered-set.ts';
import type { Collection } from './collection.ts';
import { type Entry, indexKey, indexKeys } from './indexes.ts';

interface Condition {
  readonly member: string;
  readonly values: readonly Scalar[];
}

/** Entries that include all matches. Those that `accepts` rejects are not matches. */
interface Stream {
  readonly set: OrderedSet<Entry>;
  readonly accepts?: (row: Row) => boolean;
}

interface Plan {
  readonly streams: readonly Stream[];
  /** True if no entry is in two streams. */
  readonly disjoint: boolean;
}

export type RowQuery = Query<Row>;
export type RowFilter = Omit<RowQuery, 'limit' | 'after' | 'order' | 'sort'>;
export type RowCount = CountQuery<Row>;

/** Uncommitted changes over a collection: rows by id, undefined if the record was deleted. */
export type Overlay = ReadonlyMap<string, Row | undefined>;

/** A page of a query that does not sort. */
export function findByTime(collection: Collection, query: RowQuery, overlay?: Overlay): Page<Row> {
  const plan = planOf(collection, query);
  const streams = overlay?.size ? overlaid(plan.streams, query, overlay) : plan.streams;
  const records: Row[] = [];
  for (const { row } of merged(streams, query)) {
    const last = records.at(-1);
    if (records.length >= query.limit)
      return { records, next: last ? { createdAt: last.createdAt, id: last.id } : null };
    records.push(row);
  }
  return { records, next: null };
}

/**
 * The entries that the filter admits, in no order and each one once. Undefined where a page of so many is found with fewer looks by going
 * through all records in an order.
 */
export function entriesOf(collection: Collection, filter: RowFilter, limit: number): Iterable<Entry> | undefined {
  const { streams } = planOf(collection, filter);
  const looks = cost(streams);
  return looks * looks > limit * collection.ordered.size ? undefined : merged(streams, filter);
}

export type FindIn = (collection: string, query: RowQuery) => Promise<Page<Row>>;

/** The filter with the ids of owners in place of what it says of their members. */
export async function withOwners(
  { definition, name }: Collection,
  { owner, ...filter }: RowCount,
  find: FindIn,
): Promise<RowFilter> {
  if (!owner) return filter;
  const declared = definition.search?.owner;
  if (!declared) throw new Error(`records of ${name} belong to no others`);
  const { records } = await find(declared.collection, { ...(owner as RowFilter), limit: Number.POSITIVE_INFINITY }); // it names members of the owner
  const asked = [filter.where?.[declared.field] ?? []].flat();
  const ids = records.flatMap(({ id }) => (asked.length === 0 || asked.includes(id) ? id : []));
  return { ...filter, where: { ...filter.where, [declared.field]: ids } };
}

export function count(collection: Collection, filter: RowFilter, overlay?: Overlay): number {
  let total = countCommitted(collection, filter);
  if (!overlay?.size) return total;
  const matches = matcher(filter);
  for (const [id, row] of overlay) {
    const committed = collection.get(id);
    if (committed && matches(committed)) total -= 1;
    if (row && matches(row)) total += 1;
  }
  return total;
}

function countCommitted(collection: Collection, filter: RowFilter): number {
  const { streams, disjoint } = planOf(collection, filter);
  let total = 0;
  if (disjoint && streams.every((stream) => !stream.accepts)) {
    for (const { set } of streams) {
      const { low, high } = ranks(set, filter);
      total += Math.max(0, high - low);
    }
    return total;
  }
  for (const _ of merged(streams, filter)) total += 1;
  return total;
}

function planOf(collection: Collection, { part, ...filter }: RowFilter): Plan {
  const plan = planByValues(collection, filter);
  if (!part) return plan;
  const contains = holderOf(part);
  const streams = plan.streams.map(({ set, accepts }) => ({
    set,
    accepts: (row: Row) => (!accepts || accepts(row)) && contains(row),
  }));
  return { ...plan, streams };
}

function planByValues(collection: Collection, filter: RowFilter): Plan {
  const conditions = conditionsOf(filter.where);
  if (!filter.any) return bestPlan(collection, conditions);
  const alternatives = filter.any.map((where) => bestPlan(collection, [...conditions, ...conditionsOf(where)]));
  const streams = alternatives.flatMap((plan) => plan.streams);
  const direct = bestPlan(collection, conditions);
  if (cost(direct.streams) >= cost(streams))
    return { streams, disjoint: alternatives.length === 1 && !!alternatives[0]?.disjoint };
  const accepts = matcher(filter);
  return { streams: direct.streams.map(({ set }) => ({ set, accepts })), disjoint: direct.disjoint };
}

/** The smallest sets of entries that contain every record meeting the conditions. */
function bestPlan(collection: Collection, conditions: readonly Condition[]): Plan {
  const accepts =
    conditions.length > 0 ? (row: Row) => conditions.every((condition) => holds(condition, row)) : undefined;
  const byId = conditions.find((condition) => condition.member === 'id');
  if (byId && accepts) {
    const entries = byId.values.map((id) => collection.entry(String(id))).filter((entry) => entry !== undefined);
    return { streams: [{ set: OrderedSet.of(new Set(entries)), accepts }], disjoint: true };
  }
  const [only] = conditions;
  const exactly = conditions.length === 1 && only ? planByOne(collection, only) : undefined;
  if (exactly) return exactly;
  let best: Plan = { streams: [{ set: collection.ordered, ...(accepts && { accepts }) }], disjoint: true };
  for (const index of collection.indexes) {
    const used = index.fields.map((field) => conditions.find((condition) => condition.member === field));
    if (!used.every((condition) => condition !== undefined)) continue;
    const sets = indexKeys(used.map((condition) => condition.values)).flatMap((key) => index.get(key) ?? []);
    const exact = used.length === conditions.length;
    const streams = sets.map((set) => (accepts && !exact ? { set, accepts } : { set }));
    const better = cost(streams) < cost(best.streams) || (exact && cost(streams) === cost(best.streams));
    if (better) best = { streams, disjoint: index.disjoint || sets.length < 2 };
  }
  return best;
}

/** A plan for one value of a member that has an index of its own, as when a credential is looked up. No plan holds fewer records. */
function planByOne({ indexes }: Collection, { member, values }: Condition): Plan | undefined {
  const [value, ...others] = values;
  const index = indexes.find(({ fields }) => fields.length === 1 && fields[0] === member);
  if (value === undefined || others.length > 0 || !index) return undefined;
  const set = index.get(indexKey([value]));
  return { streams: set ? [{ set }] : [], disjoint: true };
}

function cost(streams: readonly Stream[]): number {
  return streams.reduce((sum, { set }) => sum + set.size, 0);
}

function conditionsOf(where: Where<Row> | undefined): Condition[] {
  const conditions: Condition[] = [];
  for (const [member, wanted] of Object.entries(where ?? {})) {
    if (wanted === undefined) continue;
    conditions.push({ member, values: isList(wanted) ? wanted : [wanted] });
  }
  return conditions;
}

function isList(wanted: Scalar | readonly Scalar[]): wanted is readonly Scalar[] {
  return Array.isArray(wanted);
}

function holds({ member, values }: Condition, row: Row): boolean {
  const value = row[member];
  if (Array.isArray(value)) return value.some((item) => values.includes(item));
  // A value that is not a scalar is in no list of scalars.
  return values.includes(value as Scalar);
}

function holderOf({ members, text }: Part): (row: Row) => boolean {
  const form = partForm(text);
  return (row) =>
    members.some((member) => {
      const value = row[member];
      return typeof value === 'string' && value.toLowerCase().includes(form);
    });
}

export function matcher(filter: RowFilter): (row: Row) => boolean {
  const all = conditionsOf(filter.where);
  const any = filter.any?.map(conditionsOf);
  const contains = filter.part && holderOf(filter.part);
  return (row) =>
    (filter.from === undefined || row.createdAt >= filter.from) &&
    (filter.to === undefined || row.createdAt < filter.to) &&
    all.every((condition) => holds(condition, row)) &&
    (!contains || contains(row)) &&
    (!any || any.some((conditions) => conditions.every((condition) => holds(condition, row))));
}

function overlaid(streams: readonly Stream[], query: RowQuery, overlay: Overlay): Stream[] {
  const matches = matcher(query);
  const staged: Entry[] = [];
  for (const [id, row] of overlay) if (row && matches(row)) staged.push({ id, createdAt: row.createdAt, row });
  const committed = streams.map(({ set, accepts }) => ({
    set,
    accepts: (row: Row) => !overlay.has(row.id) && (!accepts || accepts(row)),
  }));
  return [...committed, { set: OrderedSet.of(staged) }];
}

function ranks(set: OrderedSet<Entry>, query: RowFilter & Partial<RowQuery>): { low: number; high: number } {
  const { from, to, after, order } = query;
  let low = from === undefined ? 0 : set.rank({ createdAt: from, id: '' });
  let high = to === undefined ? set.size : set.rank({ createdAt: to, id: '' });
  if (after && order === 'oldest') low = Math.max(low, set.rankAfter(after));
  else if (after) high = Math.min(high, set.rank(after));
  return { low, high };
}

/** The accepted entries of all streams in order, each one once. */
function merged(streams: readonly Stream[], query: RowFilter & Partial<RowQuery>): Iterable<Entry> {
  const [only, ...others] = streams;
  if (!only) return [];
  if (others.length > 0) return inOrder(streams, query);
  const entries = walk(only.set, query);
  return only.accepts ? accepted(entries, only.accepts) : entries;
}

function walk(set: OrderedSet<Entry>, query: RowFilter & Partial<RowQuery>): Generator<Entry, void> {
  const { low, high } = ranks(set, query);
  return query.order === 'oldest' ? set.ascending(low, high) : set.descending(low, high);
}

function* accepted(entries: Iterable<Entry>, accepts: (row: Row) => boolean): Generator<Entry, void> {
  for (const entry of entries) if (accepts(entry.row)) yield entry;
}

function* inOrder(streams: readonly Stream[], query: RowFilter & Partial<RowQuery>): Generator<Entry, void> {
  const direction = query.order === 'oldest' ? 1 : -1;
  const cursors = streams.map(({ set, accepts }) => ({ entries: walk(set, query), accepts }));
  const heads = cursors.map((cursor) => advance(cursor));
  for (;;) {
    let first: Entry | undefined;
    for (const head of heads) if (head && (!first || comparePositions(head, first) * direction < 0)) first = head;
    if (!first) return;
    yield first;
    for (const [at, cursor] of cursors.entries()) {
      const head = heads[at];
      if (head && comparePositions(head, first) === 0) heads[at] = advance(cursor);
    }
  }
}

function advance(cursor: { entries: Generator<Entry, void>; accepts: Stream['accepts'] }): Entry | undefined {
  for (;;) {
    const step = cursor.entries.next();
    if (step.done) return undefined;
    if (!cursor.accepts || cursor.accepts(step.value.row)) return step.value;
  }
}
