import type { Values } from '../records/query.ts';
import type { WeighedWord } from './weigh.ts';
import { TITLE_WEIGHT } from './words.ts';

/** A record is found when its words make up this share of the query's weight. Common words weigh little. */
const ENOUGH = 0.3;
/** Constants of BM25: how quickly repetition of a word stops to count, and how much the length of a record counts. */
const K = 1.2;
const B = 0.75;
/** Weights of ts_rank for D, C, B and A; none may be above 1. It divides by pi squared over 6. */
const WEIGHTS = `'{${(1 / TITLE_WEIGHT).toFixed(6)}, 0, 0, 1}'`;
const SCALE = (TITLE_WEIGHT * Math.PI ** 2) / 6;
/** No score but that of an equal title or id is 1. */
const LEAST = 0.000001;

interface Ranking {
  /** The score as a number above 0 and below 1. */
  readonly score: string;
  /** Whether the record has enough of the words by weight. */
  readonly enough: string;
  /**
   * Whether it has one of the words without which no record has enough, by the index. All rows of a condition in `whole` count, of one in
   * `newest` only so many: such a condition holds for more records than can be ranked.
   */
  readonly whole: string | undefined;
  readonly newest: readonly string[];
}

/** Expressions over the columns of the table `t` and its words as they are in `w`: BM25, with ts_rank for the number of times that a word is there. */
export function rankOf(words: readonly WeighedWord[], values: Values): Ranking {
  const known = words.filter(({ isKnown }) => isKnown);
  if (known.length === 0) return { score: `${LEAST}::float8`, enough: 'false', whole: undefined, newest: [] };
  const asked = words.reduce((sum, { rarity }) => sum + rarity, 0);
  // A little less, as sums of the same numbers differ by their order.
  const least = known.reduce((sum, { rarity }) => sum + rarity, 0) * ENOUGH * (1 - 1e-9);
  const sum = known.map((word) => `${word.rarity} * ${worthOf(word, values)}`).join(' + ');
  const rounded = `round(((${sum}) / ${asked})::numeric, 6)::float8`;
  const has = (queries: readonly string[], by: string) =>
    `t.words @@ ${values.add(queries.map((query) => `(${query})`).join(by))}::tsquery`;
  const needed = neededOf(known, least);
  const rare = needed.filter(({ isCommon }) => !isCommon);
  const common = needed.filter(({ isCommon }) => isCommon);
  return {
    score: `least(greatest(${rounded}, ${LEAST}), ${1 - LEAST})`,
    enough: known.length === 1 ? 'true' : `${matched(known, values)} >= ${least}`,
    whole: rare.length > 0 ? has(rare.map(anySpelling), ' | ') : undefined,
    newest:
      common.length === 0
        ? []
        : [
            has(common.map(anySpelling), ' | '),
            // Those with all words are often older.
            ...(known.length > 1 ? [has(known.map(anySpelling), ' & ')] : []),
          ],
  };
}

const anySpelling = ({ spellings }: WeighedWord) => spellings.map(({ query }) => query).join(' | ');

/** The words without the most common ones, which have too little weight even together. */
function neededOf(known: readonly WeighedWord[], least: number): WeighedWord[] {
  let weight = 0;
  return [...known]
    .sort((one, other) => one.rarity - other.rarity)
    .filter(({ rarity }) => {
      weight += rarity;
      return weight >= least * (1 - 1e-9);
    });
}

/** The summed rarity of the words that a record has. */
function matched(words: readonly WeighedWord[], values: Values): string {
  const each = words.map(
    (word) => `case when w.words @@ ${values.add(anySpelling(word))}::tsquery then ${word.rarity} else 0 end`,
  );
  return each.join(' + ');
}

/** What the word adds to the score of a record: that of its best spelling. */
function worthOf({ spellings, usualLength }: WeighedWord, values: Values): string {
  const length = `${K} * (${1 - B} + ${B} * t.words_length / ${usualLength}::float8)`;
  const each = spellings.map(({ query, closeness }) => {
    const times = `${SCALE} * ts_rank(${WEIGHTS}, w.words, ${values.add(query)}::tsquery)`;
    return `${closeness} * (1 - ${length} / (${times} + ${length}))`; // times / (times + length), with one ts_rank
  });
  return each.length === 1 ? (each[0] ?? '0') : `greatest(${each.join(', ')})`;
}
