import { Session } from 'node:inspector/promises';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** By function: the places of its blocks that no input has reached. */
export type Reached = Map<string, ReadonlySet<string>>;

/** Which blocks of the sources run, as V8 counts them. */
export class Coverage {
  readonly #session = new Session();
  readonly #isOwn: (url: string) => boolean;

  constructor(isOwn: (url: string) => boolean) {
    this.#isOwn = isOwn;
    this.#session.connect();
  }

  async begin(): Promise<void> {
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** How many blocks ran since the last call that are not in `reached`, to which they are added. */
  async take(reached: Reached): Promise<number> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    let fresh = 0;
    for (const { url, functions } of result) {
      if (!this.#isOwn(url)) continue;
      for (const { ranges } of functions) {
        const [whole] = ranges;
        if (whole && ranges.some(({ count }) => count > 0)) fresh += merge(reached, `${url}:${placeOf(whole)}`, ranges);
      }
    }
    return fresh;
  }
}

/** A block that always runs with what is around it is not told apart from it. */
function merge(reached: Reached, name: string, ranges: readonly Range[]): number {
  const missed = new Set(ranges.filter(({ count }) => count === 0).map(placeOf));
  const before = reached.get(name);
  if (!before) {
    reached.set(name, missed);
    return 1;
  }
  const left = [...before].filter((place) => isWithin(place, missed));
  if (left.length === before.size) return 0;
  reached.set(name, new Set([...left, ...[...missed].filter((place) => isWithin(place, before))]));
  return before.size - left.length;
}

/** A missed block may be shown as part of a larger one. */
function isWithin(place: string, missed: ReadonlySet<string>): boolean {
  if (missed.has(place)) return true;
  const [start = 0, end = 0] = place.split('-').map(Number);
  for (const other of missed) {
    const [from = 0, to = 0] = other.split('-').map(Number);
    if (from <= start && end <= to) return true;
  }
  return false;
}

function placeOf({ startOffset, endOffset }: Range): string {
  return `${startOffset}-${endOffset}`;
}
