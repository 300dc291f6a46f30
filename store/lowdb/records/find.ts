import type { Page, Sort } from '../../port.ts';
import type { Row } from '../../row.ts';
import { cursorOf } from '../../sort-key.ts';
import { comparePositions } from '../ordered-set.ts';
import type { Collection } from './collection.ts';
import { entriesOf, findByTime, matcher, type Overlay, type RowQuery } from './query.ts';
import { inBytes, type Sorted, sorted } from './sort-index.ts';

export function find(collection: Collection, query: RowQuery, overlay?: Overlay): Page<Row> {
  const { sort } = query;
  return sort
    ? findSorted(collection, { ...query, sort }, overlay ?? new Map())
    : findByTime(collection, query, overlay);
}

/** Resolves when the order that the query goes through is made, where it goes through one. */
export async function inOrder(collection: Collection, { sort, after: _, limit, ...filter }: RowQuery): Promise<void> {
  if (sort && !entriesOf(collection, filter, limit)) await collection.sortCaughtUp(sort.by);
}

/** The page of a query that sorts: few records are sorted as they are found, of many the sorted ones are looked through. */
function findSorted(
  collection: Collection,
  { sort, after, limit, ...filter }: RowQuery & { readonly sort: Sort<string> },
  overlay: Overlay,
): Page<Row> {
  const direction = sort.isDescending ? -1 : 1;
  const from = after && { createdAt: inBytes(after.sortKey ?? ''), id: after.id };
  const isBeyond = (one: Sorted) => !from || comparePositions(one, from) * direction > 0;
  const found: Sorted[] = [];
  const matches = matcher(filter);
  const entries = entriesOf(collection, filter, limit);
  if (entries) {
    for (const entry of entries) if (!overlay.has(entry.id)) found.push(sorted(entry, entry.row[sort.by]));
  } else {
    for (const one of walk(collection, sort, from)) {
      if (overlay.has(one.id) || !matches(one.entry.row)) continue;
      found.push(one);
      if (found.length > limit) break;
    }
  }
  for (const [id, row] of overlay) {
    if (row && matches(row)) found.push(sorted({ id, createdAt: row.createdAt, row }, row[sort.by]));
  }
  const beyond = found.filter(isBeyond).sort((one, other) => comparePositions(one, other) * direction);
  const records = beyond.slice(0, limit).map(({ entry }) => entry.row);
  const last = records.at(-1);
  return { records, next: beyond.length > limit && last ? cursorOf(last, sort) : null };
}

function walk(collection: Collection, sort: Sort<string>, from: Pick<Sorted, 'createdAt' | 'id'> | undefined) {
  const set = collection.sortedBy(sort.by);
  if (sort.isDescending) return set.descending(0, from ? set.rank(from) : set.size);
  return set.ascending(from ? set.rankAfter(from) : 0, set.size);
}
