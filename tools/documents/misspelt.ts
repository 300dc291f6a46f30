import leven from 'leven';

/** Shorter words have one mistake at most. */
const SHORTEST_OF_TWO_MISTAKES = 8;

/** How many letters of the word may be wrong. */
export function mistakesIn(word: string): number {
  return word.length >= SHORTEST_OF_TWO_MISTAKES ? 2 : 1;
}

/** Whether the word begins with the other one, but for so many letters, or for two neighbours that are swapped. */
export function beginsLike(word: string, other: string, most: number): boolean {
  const parts = [0, -1, 1].map((more) => word.slice(0, other.length + more));
  return (
    parts.some((part) => leven(other, part, { maxDistance: most + 1 }) <= most) ||
    swapped(word.slice(0, other.length)).includes(other)
  );
}

/** The word with each two neighbouring letters behind the first swapped. */
function swapped(word: string): string[] {
  const places = Array.from({ length: Math.max(0, word.length - 2) }, (_, at) => at + 1);
  return places.map((at) => `${word.slice(0, at)}${word[at + 1]}${word[at]}${word.slice(at + 2)}`);
}

/** The words, and short ones with two letters swapped: the store's index finds what is spelled nearly like one of them. */
export function respelled(words: readonly string[]): string {
  const short = words.filter((word) => word.length < SHORTEST_OF_TWO_MISTAKES);
  return [...words, ...short.flatMap(swapped)].join(' '); // a store looks for the first of them alone
}
