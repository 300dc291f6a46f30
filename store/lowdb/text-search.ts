import type { Rank, TextHit, TextPage, TextQuery } from '../port.ts';
import type { Collection } from './collection.ts';
import { matcher } from './query.ts';
import type { Row } from './row.ts';

/** One page of the best records, among those the filters admit; `owners` is the collection of the records they belong to. */
export function search(collection: Collection, owners: Collection | undefined, query: TextQuery<Row>): TextPage<Row> {
  if (!collection.text) throw new Error(`${collection.name} declares no text to search`);
  const admits = matcher(query);
  const ownerOf = owners && admittedOwner(collection, owners, query);
  const { limit, after } = query;
  const best: TextHit<Row>[] = [];
  let count = 0;
  let behind = 0;
  collection.text.visit(query.text, (record, score) => {
    if (!admits(record)) return;
    const owner = ownerOf?.(record);
    if (ownerOf && !owner) return;
    count += 1;
    if (after && compareRanks({ score, id: record.id }, after) <= 0) return;
    behind += 1;
    keepBest(best, { record, score, ...(owner && { owner }) }, limit);
  });
  const last = best.at(-1);
  return { hits: best, next: last && behind > limit ? rankOf(last) : null, count };
}

/** The owner of a record when it meets the filter; judged once for all records it owns. */
function admittedOwner(collection: Collection, owners: Collection, { owner: filter }: TextQuery<Row>) {
  const field = collection.definition.search?.owner?.field ?? '';
  // A filter on an owner names members of a record too.
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

function keepBest(best: TextHit<Row>[], hit: TextHit<Row>, limit: number): void {
  const worst = best.at(-1);
  if (best.length >= limit) {
    if (!worst || compareRanks(rankOf(hit), rankOf(worst)) >= 0) return;
    best.pop();
  }
  let low = 0;
  let high = best.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = best[middle];
    if (other && compareRanks(rankOf(other), rankOf(hit)) < 0) low = middle + 1;
    else high = middle;
  }
  best.splice(low, 0, hit);
}

function rankOf({ record, score }: TextHit<Row>): Rank {
  return { score, id: record.id };
}

/** Below zero when `a` comes before `b`. */
function compareRanks(a: Rank, b: Rank): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.id === b.id) return 0;
  return a.id > b.id ? -1 : 1;
}
