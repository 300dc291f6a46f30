import { wordsIn } from '../../store/search-text.ts';

/** A text to look for answers in. */
export interface Source {
  readonly id: string;
  readonly title?: string | undefined;
  readonly text: string;
}

/** A part of a source that can be quoted. */
export interface Passage {
  readonly source: Source;
  readonly text: string;
}

const MOST_PASSAGES = 2000;
const LONGEST_PASSAGE = 500;
/** Share of the question's weight that a passage must have to be an answer. */
const ENOUGH = 0.25;
/** Share of the best passage's score that others must have to be shown beside it. */
const NEAR = 0.6;
/** A beginning of this many letters makes two words the same: order, orders, ordered. */
const STEM = 4;

/** The passages that have most of the question's words, best first; rare words count more, and so does a heading above. */
export function bestPassages(question: string, sources: readonly Source[], most: number): Passage[] {
  const passages = sources.flatMap(split).slice(0, MOST_PASSAGES);
  const wanted = [...stemsOf(question)];
  const inPassages = passages.map(({ text, above }) => ({ text: stemsOf(text), above: stemsOf(above) }));
  const weights = wanted.map((stem) => {
    const having = inPassages.filter(({ text, above }) => text.has(stem) || above.has(stem)).length;
    return having === 0 ? 0 : Math.log(1 + passages.length / having);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const scored = passages.map((passage, index) => {
    const { text, above } = inPassages[index] ?? { text: NONE, above: NONE };
    const found = wanted.map((stem, at) => (text.has(stem) ? 1 : above.has(stem) ? 0.8 : 0) * (weights[at] ?? 0));
    return { passage, score: found.reduce((sum, part) => sum + part, 0) };
  });
  const best = Math.max(...scored.map(({ score }) => score), 0);
  return scored
    .filter(({ score }) => total > 0 && score >= Math.max(total * ENOUGH, best * NEAR))
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ passage: { source, text } }) => ({ source, text }));
}

const NONE: ReadonlySet<string> = new Set();

/** Paragraphs, each with the title and heading it stands under. */
function split(source: Source): (Passage & { readonly above: string })[] {
  let heading = '';
  return source.text.split(/\n\s*\n|\n(?=#)|\n(?=\s*(?:[-*]|\d+\.)\s)/).flatMap((block) => {
    const [first = '', ...rest] = block.trim().split('\n');
    const isHeading = /^#{1,6}\s/.test(first);
    if (isHeading) heading = first.replace(/^#+\s*/, '');
    const text = (isHeading ? rest : [first, ...rest]).join(' ').replace(/^\s*(?:[-*]|\d+\.)\s+/, '');
    if (text.trim() === '') return [];
    return [{ source, text: text.trim().slice(0, LONGEST_PASSAGE), above: `${source.title ?? ''} ${heading}` }];
  });
}

/** Words of the text by their beginnings. Short ones say little and are left out, unless there are no others. */
function stemsOf(text: string): Set<string> {
  const terms = Array.from(wordsIn(text), ({ term }) => term);
  const telling = terms.filter((term) => term.length >= STEM || /\d|[^\p{Script=Latin}]/u.test(term));
  return new Set((telling.length > 0 ? telling : terms).map((term) => term.slice(0, STEM + 1)));
}
