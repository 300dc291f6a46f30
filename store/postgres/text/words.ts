import { createHash } from 'node:crypto';
import type { SearchDefinition } from '../../collection-definition.ts';
import type { Row } from '../../row.ts';
import { fold, LONGEST_INDEXED, textOf, wordsIn } from '../../search-text.ts';

/** A tsvector has at most a megabyte of words and places; what comes after this is not found. */
const MOST_BYTES = 700_000;
/** How often a word counts at most, in the title and in the text. */
const MOST_PLACES = 100;
export const TITLE_WEIGHT = 3;

interface Words {
  /** A literal of the type tsvector. Words of the title have the weight A, those of the text D. */
  readonly vector: string;
  /** The number of words, those of the title counted as often as they weigh. */
  readonly length: number;
  readonly terms: readonly string[];
}

/** The words of a record, folded as those of a query are, and one word for each of its titles as a whole. */
export function wordsOf({ title, text }: SearchDefinition<Row>, row: Row): Words {
  const counts = new Map<string, { title: number; text: number }>();
  let length = 0;
  for (const [place, fields] of [
    ['title', title],
    ['text', text],
  ] as const) {
    for (const field of fields) {
      for (const { term } of wordsIn(textOf(row[field]).slice(0, LONGEST_INDEXED))) {
        const count = counts.get(term) ?? { title: 0, text: 0 };
        count[place] += 1;
        counts.set(term, count);
        length += place === 'title' ? TITLE_WEIGHT : 1;
      }
    }
  }
  const parts = title
    .map((field) => textOf(row[field]))
    .filter((whole) => fold(whole).trim() !== '')
    .map(titleWord);
  let bytes = 0;
  for (const [term, count] of counts) {
    bytes += 3 * term.length + 2 * (count.title + count.text);
    if (bytes > MOST_BYTES) break;
    parts.push(`'${term}':${places(count)}`);
  }
  return { vector: parts.join(' '), length, terms: [...counts.keys()] };
}

/** The word that stands for a title as a whole. No word of a text begins with `=`. */
export function titleWord(title: string): string {
  return `'=${createHash('sha256').update(fold(title).trim()).digest('hex').slice(0, 32)}'`;
}

/** As many places as the word counts; the first ones are those of the title. */
function places({ title, text }: { readonly title: number; readonly text: number }): string {
  const inTitle = Math.min(title, MOST_PLACES);
  const all = inTitle + Math.min(text, MOST_PLACES);
  return Array.from({ length: all }, (_, at) => `${at + 1}${at < inTitle ? 'A' : ''}`).join(',');
}
