/** The line by which a test file asks for a process of its own, with the reason. */
const ALONE = /^\/\/ alone: \S/m;
/** So many that the start of a process counts for little, and so few that the last processes end at about the same time. */
const FILES_AT_MOST = 10;

/**
 * Which test files run in one process. Those that ask to be alone come first, as they are the longest; the others are dealt out like
 * cards, since files beside each other in a folder take long together.
 */
export function processesOf(
  files: readonly string[],
  textOf: (file: string) => string,
  atOnce: number,
): readonly (readonly string[])[] {
  const alone = files.filter((file) => ALONE.test(textOf(file)));
  const others = files.filter((file) => !alone.includes(file));
  const count = Math.min(others.length, Math.max(atOnce, Math.ceil(others.length / FILES_AT_MOST)));
  const dealt = Array.from({ length: count }, (_, hand) => others.filter((_, card) => card % count === hand));
  return [...alone.map((file) => [file]), ...dealt];
}
