import { setImmediate } from 'node:timers/promises';
import { stemmer } from 'stemmer';
import type { Rank } from '../../store/port.ts';
import { wordsIn } from '../../store/search-text.ts';
import { beginsLike, mistakesIn } from './misspelt.ts';
import { type Passage, passagesOf } from './passages.ts';

/** A text that is split into passages. */
export interface TextSource {
  readonly id: string;
  /** Another one with each change of the text. */
  readonly state: string;
  readonly title: string;
  readonly content: string;
}

/** A passage of one of the texts, with how well it answers the query. */
export interface FoundPassage {
  readonly source: TextSource;
  readonly passage: Passage;
  /** By this, passages with equal scores are sorted. */
  readonly place: string;
  /** Between 0 and 1. */
  readonly score: number;
  /** How much of what the query asks for it has, weighed by how rare the words are. */
  readonly coverage: number;
  /** It has less than half of that. */
  readonly weak: boolean;
}

/** The stems of a passage and how often each is in it; those of headings count twice, as BM25F counts fields. */
interface Terms {
  readonly passage: Passage;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

interface Split {
  readonly state: string;
  readonly size: number;
  readonly passages: readonly Passage[];
  /** Once words were looked for in it. */
  terms?: readonly Terms[];
}

const HEADING_WEIGHT = 2;
/** The parameters of BM25, as Robertson and Zaragoza recommend (The Probabilistic Relevance Framework, 2009). */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
/** How much of a score is for words that stand elsewhere in the document. */
const DOCUMENT_SHARE = 0.25;
/** Each further passage of a document counts this much of the one before, so that other documents have a place. */
const FURTHER = 0.92;
const WEAK_COVERAGE = 0.5;
/** What is kept of documents that were split, in characters of their texts. It takes some 25 times as many bytes. */
const MOST_KEPT = 2_000_000;
/** Documents are compared until they have so many characters together. */
const MOST_COMPARED = 1_000_000;
/** Of a query, so many different words count. */
const MOST_WORDS = 32;
/** Others have their turn after so long. */
const SLICE_MS = 8;

/** Words that say nothing about what is asked. */
const IGNORED = new Set(
  `a about an and any are as at be been but by can could do does did for from get had has have how i if in into is it its long many may me
  much must my need of on or our please should so than that the their them then there these they this to us was we were what when where
  which who whom whose why will with would you your`.split(/\s+/),
);

/** Whether the passage comes after the rank, best first. */
export function isBehind({ score, place }: Pick<FoundPassage, 'score' | 'place'>, rank: Rank): boolean {
  return score === rank.score ? place > rank.id : score < rank.score;
}

export function bestFirst<Found extends Pick<FoundPassage, 'score' | 'place'>>(found: Found[]): Found[] {
  return found.sort((one, other) => (isBehind(one, { score: other.score, id: other.place }) ? 1 : -1));
}

/** Finds passages in documents, which are split once for each revision. */
export class PassageFinder {
  readonly #split = new Map<string, Split>();
  #size = 0;

  /** The passages of these texts that have words of the query, best first. */
  async find(sources: readonly TextSource[], query: string): Promise<FoundPassage[]> {
    const wanted = wordsByStem(query);
    if (wanted.size === 0) return [];
    const all = await this.#compared(sources);
    const passages = all.flatMap(({ terms }) => terms);
    const average = passages.reduce((sum, { length }) => sum + length, 0) / Math.max(1, passages.length);
    const queryTerms = Array.from(wanted, ([stem, word]) => queryTermOf({ stem, word }, passages));
    const whole = queryTerms.reduce((sum, { weight }) => sum + weight, 0);
    const found = all.flatMap(({ source, terms }) => {
      const wholeCovered = queryTerms.reduce(
        (sum, { weight, forms }) => sum + weight * Math.max(0, ...terms.map(({ counts }) => bestOf(forms, counts)[1])),
        0,
      );
      const fitting = terms.flatMap(({ passage, counts, length }) => {
        let score = 0;
        let covered = 0;
        const long = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / average);
        for (const { weight, forms } of queryTerms) {
          const [count, sureness] = bestOf(forms, counts);
          covered += weight * sureness;
          score += (weight * sureness * count) / (count + long);
        }
        if (covered === 0) return [];
        const place = placeOf(source, passage);
        const fit = (1 - DOCUMENT_SHARE) * score + DOCUMENT_SHARE * wholeCovered;
        const coverage = covered / whole;
        return [{ source, passage, place, score: fit / whole, coverage, weak: coverage < WEAK_COVERAGE }];
      });
      return bestFirst(fitting).map((one, nth) => ({ ...one, score: one.score * FURTHER ** nth }));
    });
    return bestFirst(found);
  }

  /** The words of the query that none of these texts has in any form: they may be misspelt. */
  async missing(sources: readonly TextSource[], query: string): Promise<string[]> {
    const wanted = wordsByStem(query);
    for (const { terms } of await this.#compared(sources)) {
      for (const stem of wanted.keys()) if (terms.some(({ counts }) => counts.has(stem))) wanted.delete(stem);
    }
    return [...wanted.values()].filter(({ length }) => length >= SHORTEST_MISSPELT);
  }

  async #compared(sources: readonly TextSource[]) {
    const all: { source: TextSource; terms: readonly Terms[] }[] = [];
    let compared = 0;
    for (const source of sources) {
      compared += source.content.length;
      if (all.length > 0 && compared > MOST_COMPARED) break;
      all.push({ source, terms: await this.#termsOf(source) });
    }
    return all;
  }

  /** The passages of the text, split once for each state. */
  passagesOf(source: TextSource): readonly Passage[] {
    return this.#splitOf(source).passages;
  }

  async #termsOf(source: TextSource): Promise<readonly Terms[]> {
    const split = this.#splitOf(source);
    if (split.terms) return split.terms;
    const terms: Terms[] = [];
    let began = performance.now();
    for (const passage of split.passages) {
      terms.push(termsOf(passage, source.title));
      if (performance.now() - began < SLICE_MS) continue;
      await setImmediate();
      began = performance.now();
    }
    split.terms = terms;
    return terms;
  }

  #splitOf({ id, state, content }: TextSource): Split {
    const known = this.#split.get(id);
    if (known?.state === state) return known;
    const split: Split = { state, size: content.length, passages: passagesOf(content) };
    this.#size += split.size - (known?.size ?? 0);
    this.#split.delete(id);
    this.#split.set(id, split);
    for (const [oldest, { size }] of this.#split) {
      if (this.#size <= MOST_KEPT) break;
      this.#split.delete(oldest);
      this.#size -= size;
    }
    return split;
  }
}

/** One for the process, which keeps what it split. */
export const passageFinder = new PassageFinder();

export function placeOf({ id }: TextSource, { offset }: Passage): string {
  return `${id} ${String(offset).padStart(7, '0')}`;
}

function termsOf(passage: Passage, title: string): Terms {
  const counts = new Map<string, number>();
  const add = (text: string, weight: number) => {
    for (const stem of stemsIn(text)) counts.set(stem, (counts.get(stem) ?? 0) + weight);
  };
  add(passage.text, 1);
  for (const heading of new Set([title, ...passage.path])) add(heading, HEADING_WEIGHT);
  return { passage, counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

/** A word of the query: how rare it is, and the stems that count as it, each with how surely it is meant. */
interface QueryTerm {
  readonly weight: number;
  readonly forms: readonly (readonly [stem: string, sureness: number])[];
}

/** Among fewer passages, the share that has a word says little about how rare it is. */
const FEWEST = 200;
const SURENESS_OF_SIMILAR = 0.6;
const SHORTEST_MISSPELT = 5;

/** A word that no passage has may be the beginning of one, or misspelt behind its first letter. */
function queryTermOf(
  { stem, word }: { readonly stem: string; readonly word: string },
  passages: readonly Terms[],
): QueryTerm {
  const having = passages.filter(({ counts }) => counts.has(stem)).length;
  const among = Math.max(passages.length, FEWEST);
  const weight = Math.log(1 + (among - having + 0.5) / (having + 0.5));
  if (having > 0 || word.length < SHORTEST_MISSPELT) return { weight, forms: [[stem, 1]] };
  const most = mistakesIn(word);
  const known = new Set(passages.flatMap(({ counts }) => [...counts.keys()].filter((other) => other[0] === stem[0])));
  const similar = [...known].filter(
    (other) =>
      other.startsWith(stem) ||
      // The ending of a misspelt word is no ending that a stem could lose.
      (other.length >= Math.max(SHORTEST_MISSPELT, stem.length / 2) &&
        other.length <= word.length + most &&
        beginsLike(word, other, most)),
  );
  return { weight, forms: similar.map((other) => [other, SURENESS_OF_SIMILAR]) };
}

function bestOf(
  forms: QueryTerm['forms'],
  counts: ReadonlyMap<string, number>,
): readonly [count: number, sureness: number] {
  let best: readonly [number, number] = [0, 0];
  for (const [stem, sureness] of forms) {
    const count = counts.get(stem) ?? 0;
    if (count > best[0]) best = [count, sureness];
  }
  return best;
}

/** The words of the query by their stems, of each the first. */
function wordsByStem(query: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const { term } of wordsIn(query)) {
    if (found.size === MOST_WORDS) break;
    const stem = stemOf(term);
    if (!IGNORED.has(term) && !found.has(stem)) found.set(stem, term);
  }
  return found;
}

function stemsIn(text: string): string[] {
  const words = Array.from(wordsIn(text), ({ term }) => term);
  return words.filter((word) => !IGNORED.has(word)).map(stemOf);
}

const stems = new Map<string, string>();
const MOST_STEMS = 50_000;

function stemOf(word: string): string {
  let stem = stems.get(word);
  if (stem === undefined) {
    stem = stemmer(word);
    if (stems.size >= MOST_STEMS) stems.clear();
    stems.set(word, stem);
  }
  return stem;
}

/** The query with its words cut to what all their forms begin with, by which the store's index finds each of them. */
export function widened(query: string): string {
  return tellingWords(query).map(beginningOf).join(' ');
}

/** The words of the query without those that say nothing, or all if it has no others. */
export function tellingWords(query: string): string[] {
  const words = Array.from(wordsIn(query), ({ term }) => term);
  const telling = words.filter((word) => !IGNORED.has(word));
  return telling.length > 0 ? telling : words;
}

const SHORTEST_BEGINNING = 4;

/** Porter's stems turn a final y into i, which other forms lack. */
export function beginningOf(word: string): string {
  const beginning = stemOf(word).replace(/i$/, '');
  return beginning.length >= SHORTEST_BEGINNING && word.startsWith(beginning) ? beginning : word;
}
