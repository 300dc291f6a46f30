import type { Readers, TextSearch, Where } from '../../store/port.ts';
import type { Context } from '../core/registry/context.ts';
import {
  bestFirst,
  type FoundPassage,
  passageFinder,
  placeOf,
  type TextSource,
  widened,
} from '../documents/find-passages.ts';
import type { Passage } from '../documents/passages.ts';
import { sourceOf } from '../embeddings/texts.ts';
import type { PassageKind } from './passage-kinds.ts';
import type { ReadableFilter } from './types.ts';

/** Of so many records, the best by the store's index, the passages are compared. */
const MOST_BY_WORDS = 60;
const MOST_BY_MEANING = 40;
/** Of reciprocal rank fusion, as Cormack, Clarke and Büttcher recommend (Reciprocal Rank Fusion, 2009). */
const K = 60;
/** What is weak by words counts this much of its rank, since it shares few of the words that are asked for. */
const WEAK_SHARE = 0.2;

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
  readonly weak: boolean;
}

interface Question {
  readonly q: string;
  /** Conditions of the caller, which narrow what it may read. */
  readonly where: Where<{ readonly projectId: string; readonly tags: readonly string[]; readonly id: string }>;
}

type Asking = Context<Readers & TextSearch, never>;
type Ranking = readonly RankedPassage[];

/** The passages of what the caller may read that answer the question, best first. */
export async function rankPassages(kinds: readonly PassageKind[], question: Question, context: Asking) {
  const { meaning } = context.server;
  const [words, near] = await Promise.all([
    byWords(kinds, question, context),
    meaning?.isOn ? byMeaning(kinds, question, context) : undefined,
  ]);
  const state = near ? ('used' as const) : meaning?.isOn ? ('unavailable' as const) : ('off' as const);
  return { found: near ? fused(words, near) : words, meaning: state };
}

function filterOf({ readable }: PassageKind, { where }: Question, { principal }: Asking): ReadableFilter {
  const own = readable(principal);
  return { ...own, where: { ...where, ...own.where } };
}

async function byWords(kinds: readonly PassageKind[], question: Question, context: Asking): Promise<Ranking> {
  const texts = new Map<TextSource, FoundText>();
  const text = widened(question.q);
  for (const kind of kinds) {
    const filter = filterOf(kind, question, context);
    const { hits } = await context.store.search(kind.collection, { text, limit: MOST_BY_WORDS, ...filter } as never);
    for (const { record } of hits) add(texts, kind, record);
  }
  const found = await passageFinder.find([...texts.keys()], question.q);
  return found.flatMap(({ source, ...one }: FoundPassage) => {
    const text = texts.get(source);
    return text ? [{ ...one, found: text }] : [];
  });
}

function add(
  texts: Map<TextSource, FoundText>,
  { type, collection }: PassageKind,
  record: { readonly id: string },
): FoundText {
  const source = sourceOf(collection, record);
  const text = { type, source, record };
  texts.set(source, text);
  return text;
}

/** Undefined if no model answers, or nothing is embedded yet. */
async function byMeaning(
  kinds: readonly PassageKind[],
  question: Question,
  context: Asking,
): Promise<Ranking | undefined> {
  const best = new Map<string, RankedPassage & { readonly rank: number }>();
  const answers = await Promise.all(
    kinds.map(async (kind) => {
      const readable = filterOf(kind, question, context);
      const near = await context.server.meaning?.nearest(question.q, kind.collection, {
        principal: context.principal,
        readable,
        most: MOST_BY_MEANING,
      });
      return near?.map((records) => ({ kind, records }));
    }),
  );
  if (answers.every((answer) => answer === undefined)) return undefined;
  const models = Math.max(...answers.map((answer) => answer?.length ?? 0));
  for (let model = 0; model < models; model += 1) {
    const passages: RankedPassage[] = [];
    for (const answer of answers) {
      const { kind, records } = answer?.[model] ?? {};
      if (!kind || !records) continue;
      const read = await readAll(
        kind,
        records.map(({ record }) => record.id),
        question,
        context,
      );
      for (const {
        record: { id, state },
        parts,
      } of records) {
        const text = read.get(id);
        if (!text || text.source.state !== state) continue;
        const split = await passageFinder.passagesOf(text.source);
        for (const [at, { cosine, isNear }] of parts.entries()) {
          const passage = split[at];
          if (!passage) continue;
          passages.push({ found: text, passage, place: placeOf(text.source, passage), score: cosine, weak: !isNear });
        }
      }
    }
    for (const [rank, one] of bestFirst(passages).entries()) {
      const other = best.get(one.place);
      if (!other || other.rank > rank) best.set(one.place, { ...one, rank, weak: one.weak && (other?.weak ?? true) });
    }
  }
  return [...best.values()].sort((one, other) => one.rank - other.rank || (one.place < other.place ? -1 : 1));
}

/** Reads the records by the filter again, which decides. Owners were checked with the ids. */
async function readAll(
  kind: PassageKind,
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
  for (const [list, isNear] of [
    [words, false],
    [near, true],
  ] as const) {
    for (const [rank, one] of list.entries()) {
      const other = all.get(one.place);
      const share = (one.weak && !isNear ? WEAK_SHARE : 1) / (K + rank + 1);
      const score = (share * (K + 1)) / 2 + (other?.score ?? 0);
      all.set(one.place, { ...one, score, weak: one.weak && (other?.weak ?? true) });
    }
  }
  return bestFirst([...all.values()]);
}
