import { backoffMs } from '../../../store/backoff.ts';
import type { Answer } from './call.ts';

const BACKOFF = { firstMs: 250, longestMs: 30_000 };

/** What is known of calls that were not made: how many there were, and how long ago the first was. */
interface RetryState {
  readonly count: number;
  readonly sinceMs: number;
  /** Repeats begin only within this time. */
  readonly withinMs: number;
}

/** How long to wait before a call that was certainly not made is made again. Undefined if it is not to be. */
export function retryDelayMs(answer: Answer, { count, sinceMs, withinMs }: RetryState): number | undefined {
  if (answer.ok || !answer.notMade) return undefined;
  const delay = Math.max(backoffMs(count, BACKOFF), (answer.retryAfterSeconds ?? 0) * 1000);
  return sinceMs + delay <= withinMs ? delay : undefined;
}
