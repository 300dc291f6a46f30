import { wordsIn } from '../../store/search-text.ts';

const LONGEST = 200;
/** Characters shown before the first match. */
const LEAD = 50;

/** The part of the text around the first word that begins with a word of the query, or the beginning of the text. On one line. */
export function snippetOf(text: string, query: string): string {
  const wanted = Array.from(wordsIn(query), ({ term }) => term);
  for (const { term, start } of wordsIn(text)) {
    if (wanted.some((word) => term.startsWith(word))) return cut(text, Math.max(0, start - LEAD));
  }
  return cut(text, 0);
}

/** The beginning of the text, on one line. */
export function shortened(text: string, longest: number): string {
  const line = text
    .slice(0, longest * 2)
    .replace(/\s+/g, ' ')
    .trim();
  if (line.length <= longest && text.length <= longest * 2) return line;
  return `${whole(line.slice(0, longest - 1)).trimEnd()}…`;
}

function cut(text: string, from: number): string {
  // Cuts between words, except where words are endless.
  const space = from === 0 ? 0 : text.slice(from, from + LEAD / 2).search(/\s/);
  const start = from + Math.max(0, space);
  const part = shortened(text.slice(whole(text.slice(0, start)).length), LONGEST);
  return start === 0 ? part : `…${part}`;
}

/** The text without half of a surrogate pair at its end. */
function whole(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}
