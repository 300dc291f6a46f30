import { fold, isSpaceless, wordsIn } from '../../store/search-text.ts';
import { beginningOf, tellingWords } from '../documents/find-passages.ts';
import { beginsLike, mistakesIn } from '../documents/misspelt.ts';

/** In longer texts, words are not looked for as misspelt. */
const LONGEST_LOOKED_THROUGH = 10_000;
const SHORTEST_MISSPELT = 4;

/**
 * Whether the texts have less than half of the words that tell what is asked, as weak passages do. Said only where it is sure: a long text
 * without any of the words may have been found by one that is spelled nearly so.
 */
export function isWeakMatch(texts: readonly string[], query: string): boolean {
  const words = tellingWords(query);
  const text = fold(texts.join('\n'));
  const isWeak = (missing: readonly string[]) => missing.length > words.length / 2;
  const missing = words.filter((word) => !hasBeginning(text, beginningOf(word)));
  if (!isWeak(missing)) return false;
  if (text.length > LONGEST_LOOKED_THROUGH) return missing.length < words.length;
  const terms = [...new Set(Array.from(wordsIn(text), ({ term }) => term))];
  return isWeak(missing.filter((word) => !terms.some((term) => isSpelledLike(term, word))));
}

function hasBeginning(text: string, beginning: string): boolean {
  if (!text.includes(beginning)) return false;
  return isSpaceless(beginning) || new RegExp(`(?<![\\p{L}\\p{N}\\p{M}])${beginning}`, 'u').test(text);
}

function isSpelledLike(term: string, word: string): boolean {
  const most = mistakesIn(word);
  const isAsLong = term.length >= SHORTEST_MISSPELT && Math.abs(term.length - word.length) <= most;
  // One of the first two letters is right mostly, which spares comparing all words.
  return isAsLong && (term[0] === word[0] || term[1] === word[1]) && beginsLike(word, term, most);
}
