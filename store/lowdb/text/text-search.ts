import type { Rank, TextHit, TextPage, TextQuery } from '../../port.ts';
import type { Row } from '../../row.ts';
import type { Collection } from '../records/collection.ts';
import { matcher } from '../records/query.ts';
import type { TextIndex } from './text-index.ts';

/** One page of the best records that the filters admit. `owners` is the collection that the `owner` of the records is in. */
export function search(collection: Collection, owners: Collection | undefined, query: TextQuery<Row>): TextPage<Row> {
  const { text: index } = collection;
  if (!index) throw new Error(`${collection.name} declares no text to search`);
  const ownerOf = owners && admittedOwner(collection, owners, query);
  const admits = admission(index, query, ownerOf, collection.definition.search?.owner?.field);
  const { limit, after } = query;
  const best: Rank[] = [];
  const slots: number[] = [];
  /** The rank that a record must exceed to be among the best. */
  let worst: Rank = { score: 0, id: '' };
  let count = 0;
  let behind = 0;
  index.visit(query.text, (slot, score) => {
    if (!admits(slot)) return;
    count += 1;
    if (after && score >= after.score && (score > after.score || index.idIn(slot) >= after.id)) return;
    behind += 1;
    if (score <= worst.score && (score < worst.score || index.idIn(slot) <= worst.id)) return;
    const id = index.idIn(slot);
    const place = placeFor(best, score, id);
    best.splice(place, 0, { score, id });
    slots.splice(place, 0, slot);
    best.length = slots.length = Math.min(best.length, limit);
    worst = best[limit - 1] ?? worst;
  });
  const hits = best.map(({ score }, at) => hitOf(index.rowIn(slots[at] ?? 0), score, ownerOf));
  const last = best.at(-1);
  return { hits, next: last && behind > limit ? last : null, count };
}

function hitOf(record: Row, score: number, ownerOf: ((record: Row) => Row | undefined) | undefined): TextHit<Row> {
  const owner = ownerOf?.(record);
  return { record, score, ...(owner && { owner }) };
}

/** Whether the filters admit the record in a slot. As far as possible, it judges all records with equal values at once. */
function admission(
  index: TextIndex,
  { where, ...query }: TextQuery<Row>,
  ownerOf: ((record: Row) => Row | undefined) | undefined,
  ownerField: string | undefined,
): (slot: number) => boolean {
  const { groups } = index;
  const asked = Object.entries(where ?? {}).filter(([, wanted]) => wanted !== undefined);
  const isShared = (member: string) => groups.fields.includes(member);
  const shared = matcher({ where: Object.fromEntries(asked.filter(([member]) => isShared(member))) });
  const ownerIsShared = ownerField !== undefined && isShared(ownerField);
  const fits = groups.judge((row) => shared(row) && (!ownerIsShared || !ownerOf || ownerOf(row) !== undefined));
  const own = asked.filter(([member]) => !isShared(member));
  if (own.length === 0 && !query.any && (!ownerOf || ownerIsShared)) return fits;
  const matches = matcher({ where: Object.fromEntries(own), any: query.any });
  return (slot) => {
    if (!fits(slot)) return false;
    const row = index.rowIn(slot);
    return matches(row) && (!ownerOf || ownerIsShared || ownerOf(row) !== undefined);
  };
}

/** Whether a record's owner meets the filter. Judged once for each owner. */
function admittedOwner(collection: Collection, owners: Collection, { owner: filter }: TextQuery<Row>) {
  const field = collection.definition.search?.owner?.field ?? '';
  // A filter on an owner also names members of a record.
  const admits = matcher((filter ?? {}) as Parameters<typeof matcher>[0]);
  const judged = new Map<unknown, Row | undefined>();
  return (record: Row): Row | undefined => {
    const id = record[field];
    if (!judged.has(id)) {
      const owner = typeof id === 'string' ? owners.get(id) : undefined;
      judged.set(id, owner && admits(owner) ? owner : undefined);
    }
    return judged.get(id);
  };
}

/** The index at which the rank belongs in the list: best first, equal scores by id, newest first. */
function placeFor(best: readonly Rank[], score: number, id: string): number {
  let low = 0;
  let high = best.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = best[middle];
    if (other && (other.score > score || (other.score === score && other.id > id))) low = middle + 1;
    else high = middle;
  }
  return low;
}
