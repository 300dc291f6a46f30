import { backoffMs } from '../../../store/backoff.ts';

export interface Clock {
  now(): Date;
  /** Calls back after this time. The returned function cancels the call. */
  after(ms: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => new Date(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      forget();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const forget = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

const BACKOFF = { firstMs: 200, longestMs: 30_000 };

/** Exponential backoff for a store that refuses, short at first. Concurrent refusals wait for the same moment. */
export class Backoff {
  readonly #clock: Clock;
  #pauses = 0;
  #endsAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called after each refusal. Returns milliseconds. */
  next(): number {
    const now = this.#clock.now().getTime();
    if (now < this.#endsAt) return Math.min(this.#endsAt - now, BACKOFF.longestMs); // the clock may have been set back
    this.#pauses = now - this.#endsAt > BACKOFF.longestMs ? 0 : this.#pauses + 1;
    const ms = backoffMs(this.#pauses, BACKOFF);
    this.#endsAt = now + ms;
    return ms;
  }
}
