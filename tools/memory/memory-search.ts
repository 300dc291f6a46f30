import type { MemoryRecord } from '../../resources/memory.ts';
import type { Readers, TextSearch, Where } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { visibleTo } from '../core/access/visibility.ts';
import type { Context } from '../core/registry/context.ts';
import { openRank, sealRank } from '../core/registry/paging.ts';
import { bestFirst } from '../documents/find-passages.ts';
import { pageOfRanked, type RankedPassage, rankPassages } from '../search/rank-passages.ts';
import type { ReadableFilter } from '../search/types.ts';
import { isWeakMatch } from '../search/weak.ts';

/** What the caller may read of what the filters leave. */
export function queryFor(
  { tag, ...filters }: Where<MemoryRecord> & { readonly tag?: string | undefined },
  { rights }: Principal,
) {
  const any = whereAllowed<MemoryRecord>(rights.limitedTo('memory', 'read'), 'id');
  return { where: { ...filters, tags: tag }, any };
}

interface SearchInput {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly includeTotal: boolean;
}

/** By words alone, as the store ranks them. */
export async function searchPage(
  { store, principal }: { readonly store: TextSearch; readonly principal: Principal },
  q: string,
  query: ReturnType<typeof queryFor>,
  { limit, cursor, includeTotal }: SearchInput,
) {
  const bound = { q, ...query };
  const where = { ...query.where, ...visibleTo(principal) };
  const asked = { text: q, ...query, where, limit, after: openRank(cursor, bound) };
  const { hits, next, count } = await store.search('memories', asked);
  const data = hits.map(({ record, score }) => ({
    ...record,
    score,
    ...(isWeak(record, score, q) && { weak: true as const }),
  }));
  return { data, nextCursor: sealRank(next, bound), ...(includeTotal && { total: count }) };
}

type RankingCaller = Pick<Context<Readers & TextSearch, never>, 'store' | 'principal' | 'server'>;
type Ranked = Pick<RankedPassage, 'score' | 'place' | 'weak'> & { readonly record: MemoryRecord };

/** Of what is found by a tag or an id alone. */
const MOST_BY_OTHER_MEMBERS = 60;

/** By words and meaning as `search_passages` does it, each memory as its best passage stands. */
export async function rankedPage(
  caller: RankingCaller,
  q: string,
  query: ReturnType<typeof queryFor>,
  { limit, cursor, includeTotal }: SearchInput,
) {
  const bound = { q, ...query };
  const after = openRank(cursor, bound);
  const all = await rankedMemories(caller, q, { ...query, where: { ...query.where, ...visibleTo(caller.principal) } });
  const { page, next } = pageOfRanked(all, limit, after);
  const data = page.map(({ record, score, weak }) => ({ ...record, score, ...(weak && { weak: true as const }) }));
  return { data, nextCursor: sealRank(next, bound), ...(includeTotal && { total: all.length }) };
}

async function rankedMemories(caller: RankingCaller, q: string, readable: ReadableFilter): Promise<Ranked[]> {
  const kind = { type: 'memory', collection: 'memories', readable: () => readable } as const;
  const [{ found }, { hits }] = await Promise.all([
    rankPassages([kind], { q, where: {} }, caller),
    caller.store.search('memories', { text: q, ...readable, limit: MOST_BY_OTHER_MEMBERS }),
  ]);
  const best = new Map<string, Ranked>();
  for (const { found: text, score, weak } of found) {
    const record = text.record as MemoryRecord; // of that collection
    if (!best.has(record.id)) best.set(record.id, { record, place: record.id, score: Math.min(1, score), weak });
  }
  for (const { record, score } of hits) {
    const known = best.get(record.id);
    if (known && !known.weak && score < 1) continue;
    const weak = isWeak(record, score, q);
    if (known?.weak && weak) continue;
    best.set(record.id, { record, place: record.id, score: Math.max(score, known?.score ?? 0), weak });
  }
  return bestFirst([...best.values()]);
}

function isWeak({ content, tags }: MemoryRecord, score: number, q: string): boolean {
  return score < 1 && isWeakMatch([content, ...tags], q);
}
