/** The line by which a test file asks for a process of its own, with the reason. */
const ALONE = /^\/\/ alone: \S/m;
/** The line by which test files ask for one process, one after the other, with what they share there. */
const TOGETHER = /^\/\/ together: (\S.*)$/m;

/** In which processes test files run. */
export interface Plan {
  /** Each in a process of its own. */
  readonly alone: readonly string[];
  /** Taken by the other processes in this order, whenever one has nothing to do. Files that belong together are taken as one. */
  readonly queue: readonly (readonly string[])[];
}

/** Who takes longest begins first, so that all processes end at about the same time. */
export function planOf(
  files: readonly string[],
  textOf: (file: string) => string,
  secondsOf: (file: string) => number,
): Plan {
  const shares = new Map<string, string[]>();
  const alone: string[] = [];
  for (const file of files) {
    const text = textOf(file);
    if (ALONE.test(text)) alone.push(file);
    else {
      const name = TOGETHER.exec(text)?.[0] ?? file;
      shares.set(name, [...(shares.get(name) ?? []), file]);
    }
  }
  const secondsOfAll = (share: readonly string[]) => share.reduce((sum, file) => sum + secondsOf(file), 0);
  const queue = [...shares.values()].sort((one, other) => secondsOfAll(other) - secondsOfAll(one));
  return { alone, queue };
}
