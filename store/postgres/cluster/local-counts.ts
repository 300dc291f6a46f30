import type { Counted } from '../../cluster-port.ts';

/** Above it, all are forgotten. */
const MOST = 10_000;

/** Counts of one process, in memory. */
export class OwnCounts {
  readonly #counts = new Map<string, { points: number; readonly endsAt: number }>();

  add(key: string, points: number, periodMs: number): Counted {
    const now = performance.now();
    const known = this.#counts.get(key);
    if (!known && this.#counts.size >= MOST) this.#counts.clear();
    const count = known && known.endsAt > now ? known : { points: 0, endsAt: now + periodMs };
    count.points += points;
    this.#counts.set(key, count);
    return { points: count.points, endsInMs: count.endsAt - now };
  }
}
