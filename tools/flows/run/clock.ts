/** The time as the engine sees it. Tests use a clock that they set. */
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

/** Resolves after this time, or at once when the signal aborts. */
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
