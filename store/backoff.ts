export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** How long to wait after a failed attempt: twice as long after each. `failures` is how many came before it. */
export function backoffMs(failures: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(firstMs * 2 ** Math.min(failures, MOST_DOUBLINGS), longestMs);
}

const MOST_DOUBLINGS = 50;
