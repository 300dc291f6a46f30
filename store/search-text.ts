/** Says what a word is. Words have no case, accents or ligatures, and scripts without spaces are split into words. */
interface Word {
  readonly term: string;
  readonly start: number;
  readonly end: number;
}

/** Only this many characters of each member are indexed. */
export const LONGEST_INDEXED = 200_000;
/** Longer runs of letters, such as encoded data, are cut. */
const LONGEST_TERM = 64;

/** Longer runs are split first, because the time of the segmenter grows with the square of the length. */
const RUN = /[\p{L}\p{N}\p{M}]{1,400}/gu;
const SPACELESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const ASCII = /^[\0-\x7f]*$/;
const ACCENTS = /[\u0300-\u036f]/g;
/** Letters that Unicode does not decompose. */
const LETTERS = /[ßæœøđłı]/g;
const SPELLED: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l', ı: 'i' };

const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

export function fold(text: string): string {
  const lower = text.toLowerCase();
  if (ASCII.test(lower)) return lower;
  const plain = lower.normalize('NFKD').replace(ACCENTS, '').normalize('NFC').toLowerCase();
  return plain.replace(LETTERS, (letter) => SPELLED[letter] ?? letter);
}

/** The text in lower case without accents. */
export function unaccented(text: string): string {
  const lower = text.toLowerCase();
  return ASCII.test(lower) ? lower : lower.normalize('NFKD').replace(ACCENTS, '');
}

/** The form of a text that is looked for as a part of others, which are compared in lower case. */
export function partForm(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

export function isSpaceless(term: string): boolean {
  return SPACELESS.test(term);
}

export function* wordsIn(text: string): Generator<Word, void> {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (SPACELESS.test(run)) yield* segments(run, index);
    else yield { term: fold(run).slice(0, LONGEST_TERM), start: index, end: index + run.length };
  }
}

function* segments(run: string, offset: number): Generator<Word, void> {
  for (const { segment, index, isWordLike } of segmenter.segment(run)) {
    if (!isWordLike) continue;
    const start = offset + index;
    yield { term: fold(segment).slice(0, LONGEST_TERM), start, end: start + segment.length };
  }
}

/** The text of a member. For a list or object, the text of everything in it. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textOf).join('\n');
}
