/**
 * Why readers of a JSON Schema would not all read the pattern alike: ECMAScript without flags, Python's `re` and RE2. Undefined where they
 * do. Takes characters of the basic plane, classes of them, groups, choices, repeats up to 1000 and `^` at the start. What is left out, and why:
 * `$` (in Python it also stands before a newline that ends the text), `\d`, `\w`, `\s`, `\b` and a dot (not the same characters in each), negated
 * classes (they take half of a surrogate pair without the flag u), `\u` (not in RE2), `\p` (not in Python), lookaround and references back (not in RE2).
 */
export function unlike(pattern: string): string | undefined {
  const text = pattern.replace(/^\^/, '');
  let at = 0;
  for (const { 0: part, index } of text.matchAll(PARTS)) {
    if (index !== at) break;
    if (part.startsWith('{') && part.match(/\d+/g)?.some((bound) => Number(bound) > 1000))
      return `${part} repeats too often`;
    at += part.length;
  }
  if (at < text.length) return `${JSON.stringify(text.slice(at, at + 3))} is not read alike`;
  try {
    new RegExp(pattern);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Characters that mean themselves, none of a surrogate pair; and those that need a backslash or have one in all three. */
const PLAIN = /[^\\^$.*+?()[\]{}|\ud800-\udfff]/;
const ESCAPED = /\\(?:[\\^$.*+?()[\]{}|/-]|[tnr]|x[0-9a-fA-F]{2})/;
/** Members and ranges; what has a meaning in the classes of any of the three is escaped. */
const CLASS =
  /\[(?:[^\\^[\]&~|\ud800-\udfff-]|\\(?:[\\^$.*+?()[\]{}|/-]|[tnr]|x[0-9a-fA-F]{2})|(?<=[\w\]])-(?=[\w\\])|-(?=\]))+\]/;
const STRUCTURE = /\(\?:|\((?!\?)|[)|]|(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{])/;
const PARTS = new RegExp([CLASS, ESCAPED, PLAIN, STRUCTURE].map(({ source }) => source).join('|'), 'g');
