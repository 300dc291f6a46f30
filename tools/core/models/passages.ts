import { wordsIn } from '../../../store/search-text.ts';

/** A text that may contain answers. */
export interface Source {
  readonly id: string;
  readonly kind?: string | undefined;
  readonly title?: string | undefined;
  readonly text: string;
}

/** A part of a source that can be quoted. */
interface Passage {
  readonly source: Source;
  readonly text: string;
}

const MOST_PASSAGES = 2000;
const LONGEST_PASSAGE = 500;
/** A passage is an answer only if its words make up this share of the question's weight. */
const ENOUGH = 0.25;
/** Further passages are shown only if they have this share of the best passage's score. */
const NEAR = 0.6;
/** Words that share a beginning longer than this count as the same word: order, orders, ordered. */
const STEM = 4;

/** The passages with most of the question's words, best first. Rare words count more; words in the heading above count too. */
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

/** The paragraphs of a source, each with the title and heading above it. */
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

/** The beginnings of the text's words. Words such as "and" or "the" are left out, unless there are no others. */
function stemsOf(text: string): Set<string> {
  const terms = Array.from(wordsIn(text), ({ term }) => term);
  const telling = terms.filter((term) => !FILLERS.has(term));
  return new Set((telling.length > 0 ? telling : terms).map(stemOf));
}

/** The beginning of a long word. A short word stays whole, without a plural s: id, ids. */
function stemOf(term: string): string {
  return term.length <= STEM && /^..+[^s]s$/.test(term) ? term.slice(0, -1) : term.slice(0, STEM + 1);
}

/** Short words of English, German, French and Spanish that most sentences contain. Longer ones are rare enough to count for little. */
const FILLERS: ReadonlySet<string> = new Set(
  `a an and any are as at be but by can did do for get got had has he her him his how i if in is it its let may me my no nor not now of off
  on one or our out she so the to too up us was we who why yes you
  ab am auf aus bei bin bis da das dem den der des die du ein er es fur für hat ich ihr im ist man mir mit nur ob sie um und uns von vor war
  wer wie wir wo zu zum zur
  au ce du en et il je la le les ma mes mon ne nos ou où par pas que qui sa se ses son sur ta tu un une vos
  al con de del el ha hay las lo los mi o por qué si sin su sus una y yo`.split(/\s+/),
);
