import { setImmediate } from 'node:timers/promises';
import type { Rank, Readers, TextSearch, Where } from '../../store/port.ts';
import type { Context, ServerContext } from '../core/registry/context.ts';
import {
  bestFirst,
  type FoundPassage,
  isBehind,
  passageFinder,
  placeOf,
  type TextSource,
  widened,
} from '../documents/find-passages.ts';
import { respelled } from '../documents/misspelt.ts';
import type { Passage } from '../documents/passages.ts';
import type { Near } from '../embeddings/embedding-index.ts';
import { sourceOf } from '../embeddings/texts.ts';
import type { PassageKind } from './passage-kinds.ts';
import type { ReadableFilter } from './types.ts';

/** Of so many records, the best by the store's index, the passages are compared. */
const MOST_BY_WORDS = 60;
/** More records where words of the question may be misspelt. */
const MOST_RESPELLED = 20;
const MOST_BY_MEANING = 40;
/** Of reciprocal rank fusion. Below the usual 60, so that the first by meaning stand before the many that share some word. */
const K = 20;
/** Below these a passage is weak, and its rank counts less: it shares few of the words, or it may be near by chance. */
const LEAST_COVERAGE = 0.5;
const byCoverage = (coverage: number) => Math.min(1, coverage / LEAST_COVERAGE) ** 3;
/** Words count twice as much as meaning, as the handbook's questions of a few words need. */
const byNearness = (nearness: number) => 0.5 * Math.min(1, nearness) ** 2;
const MOST_SHARES = byCoverage(1) + byNearness(1);

/** Others have their turn after so long. */
const SLICE_MS = 8;

/** A record with its text. */
interface FoundText {
  readonly type: PassageKind['type'];
  readonly source: TextSource;
  readonly record: object;
}

export interface RankedPassage {
  readonly found: FoundText;
  readonly passage: Passage;
  readonly place: string;
  readonly score: number;
  /** How much its rank counts. */
  readonly share: number;
  readonly weak: boolean;
}

interface Question {
  readonly q: string;
  /** Conditions of the caller, which narrow what it may read. */
  readonly where: Where<{ readonly projectId: string; readonly tags: readonly string[]; readonly id: string }>;
}

type Asking = Pick<Context<Readers & TextSearch, never>, 'store' | 'principal'> & {
  readonly server: Pick<ServerContext, 'semanticSearch'>;
};
type RankedKind = Omit<PassageKind, 'search'>;
type Ranking = readonly RankedPassage[];

/** The passages of what the caller may read that answer the question, best first. */
export async function rankPassages(kinds: readonly RankedKind[], question: Question, context: Asking) {
  const { semanticSearch: meaning } = context.server;
  const [words, near] = await Promise.all([
    byWords(kinds, question, context),
    meaning?.isOn ? byMeaning(kinds, question, context) : undefined,
  ]);
  const state = near ? ('used' as const) : meaning?.isOn ? ('unavailable' as const) : ('off' as const);
  return { found: near ? fused(words, near) : words, meaning: state };
}

function filterOf({ readable }: RankedKind, { where }: Question, { principal }: Asking): ReadableFilter {
  const own = readable(principal);
  return { ...own, where: { ...where, ...own.where } };
}

async function byWords(kinds: readonly RankedKind[], question: Question, context: Asking): Promise<Ranking> {
  const texts = new Map<TextSource, FoundText>();
  const gather = async (text: string, limit: number) => {
    for (const kind of kinds) {
      const filter = filterOf(kind, question, context);
      const { hits } = await context.store.search(kind.collection, { text, limit, ...filter } as never);
      const known = new Set(Array.from(texts.keys(), ({ id }) => id));
      for (const { record } of hits) if (!known.has(record.id)) add(texts, kind, record);
    }
  };
  await gather(widened(question.q), MOST_BY_WORDS);
  const first = [...texts.keys()];
  const missing = await passageFinder.missing(first, question.q);
  if (missing.length > 0) await gather(respelled(missing), MOST_RESPELLED);
  // Those come first, as the finder compares so much text alone.
  const found = await passageFinder.find([...[...texts.keys()].slice(first.length), ...first], question.q);
  return found.flatMap(({ source, ...one }: FoundPassage) => {
    const text = texts.get(source);
    return text ? [{ ...one, share: byCoverage(one.coverage), found: text }] : [];
  });
}

function add(
  texts: Map<TextSource, FoundText>,
  { type, collection }: RankedKind,
  record: { readonly id: string },
): FoundText {
  const source = sourceOf(collection, record);
  const text = { type, source, record };
  texts.set(source, text);
  return text;
}

/** Undefined if no model answers, or nothing is embedded yet. */
async function byMeaning(
  kinds: readonly RankedKind[],
  question: Question,
  context: Asking,
): Promise<Ranking | undefined> {
  const { server, principal } = context;
  const answers = await Promise.all(
    kinds.map(async (kind) => {
      const wanted = { principal, readable: filterOf(kind, question, context), most: MOST_BY_MEANING };
      const near = await server.semanticSearch?.nearest(question.q, kind.collection, wanted);
      return near && Promise.all(near.map((records) => passagesNear(kind, records, question, context)));
    }),
  );
  if (answers.every((answer) => answer === undefined)) return undefined;
  const models = Math.max(...answers.map((answer) => answer?.length ?? 0));
  const rankings = Array.from({ length: models }, (_, model) =>
    bestFirst(answers.flatMap((answer) => answer?.[model] ?? [])),
  );
  return bestOf(rankings);
}

/** While another model embeds all anew, each passage has the better of its ranks. */
function bestOf(rankings: readonly Ranking[]): Ranking {
  const [only] = rankings;
  if (only && rankings.length === 1) return only;
  const best = new Map<string, RankedPassage & { readonly rank: number }>();
  for (const [rank, one] of rankings.flatMap((ranking) => [...ranking.entries()])) {
    const other = best.get(one.place);
    const weak = one.weak && (other?.weak ?? true);
    if (!other || rank < other.rank) best.set(one.place, { ...one, rank, weak });
    else best.set(one.place, { ...other, weak });
  }
  return [...best.values()].sort((one, other) => one.rank - other.rank || (one.place < other.place ? -1 : 1));
}

async function passagesNear(
  kind: RankedKind,
  records: readonly Near[],
  question: Question,
  context: Asking,
): Promise<RankedPassage[]> {
  const ids = records.map(({ record }) => record.id);
  const read = await readAll(kind, ids, question, context);
  const passages: RankedPassage[] = [];
  let began = performance.now();
  for (const { record, parts } of records) {
    if (performance.now() - began > SLICE_MS) {
      await setImmediate();
      began = performance.now();
    }
    const found = read.get(record.id);
    // Its vectors are of an earlier state.
    if (found?.source.state !== record.state) continue;
    const split = passageFinder.passagesOf(found.source);
    for (const [at, { cosine, nearness }] of parts.entries()) {
      const passage = split[at];
      if (!passage) continue;
      const place = placeOf(found.source, passage);
      passages.push({ found, passage, place, score: cosine, share: byNearness(nearness), weak: nearness < 1 });
    }
  }
  return passages;
}

/** Reads the records by the filter again, which decides. Owners were checked with the ids. */
async function readAll(
  kind: RankedKind,
  ids: readonly string[],
  question: Question,
  context: Asking,
): Promise<ReadonlyMap<string, FoundText>> {
  if (ids.length === 0) return new Map();
  const { owner: _, where, any } = filterOf(kind, question, context);
  const query = { where: { ...where, id: ids }, any, limit: ids.length };
  const reader: { find(query: never): Promise<{ readonly records: readonly { readonly id: string }[] }> } =
    context.store[kind.collection];
  const { records } = await reader.find(query as never); // it names members of the collection
  const texts = new Map<TextSource, FoundText>();
  return new Map(records.map((record) => [record.id, add(texts, kind, record)]));
}

/** Joins both by reciprocal rank fusion. A score of 1: first in both. */
function fused(words: Ranking, near: Ranking): Ranking {
  const all = new Map<string, RankedPassage>();
  for (const list of [words, near]) {
    for (const [rank, one] of list.entries()) {
      const other = all.get(one.place);
      const score = ((one.share / MOST_SHARES) * (K + 1)) / (K + 1 + rank) + (other?.score ?? 0);
      all.set(one.place, { ...one, score, weak: one.weak && (other?.weak ?? true) });
    }
  }
  return bestFirst([...all.values()]);
}

/** The page behind `after`, and the position of its last item where more follow. */
export function pageOfRanked<Item extends Pick<RankedPassage, 'score' | 'place'>>(
  ranked: readonly Item[],
  limit: number,
  after: Rank | undefined,
): { readonly page: readonly Item[]; readonly next: Rank | null } {
  const left = after ? ranked.filter((one) => isBehind(one, after)) : ranked;
  const page = left.slice(0, limit);
  const last = page.at(-1);
  return { page, next: last && left.length > limit ? { score: last.score, id: last.place } : null };
}
