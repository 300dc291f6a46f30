/** What is fed with hostile inputs. `run` throws where the answer to one is wrong. */
export interface Target {
  /** What is fed. */
  readonly about: string;
  /** Folders and files whose text literals go into inputs. */
  readonly sources: readonly string[];
  /** Packages whose blocks count as those of the sources do. */
  readonly packages?: readonly string[];
  /** Inputs to begin with. Each character is a byte. */
  readonly seeds: readonly string[];
  /** How many inputs run side by side. */
  readonly atOnce?: number;
  open(): Promise<World>;
}

export interface World {
  run(input: Buffer): Promise<void> | void;
  /** After all inputs that ran side by side: what must hold of all of them. */
  settled?(): Promise<void> | void;
  close(): Promise<void> | void;
}

/** Texts as inputs: each character is a byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The text of an input, where it is UTF-8 or not. */
export function textOf(input: Buffer): string {
  return input.toString('utf8');
}

/** The first line of the input and the rest. */
export function headAndRest(input: Buffer): { readonly head: string; readonly rest: Buffer } {
  const end = input.indexOf(10);
  if (end < 0) return { head: textOf(input), rest: Buffer.alloc(0) };
  return { head: textOf(input.subarray(0, end)), rest: input.subarray(end + 1) };
}
