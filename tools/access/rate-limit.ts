import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ToolError } from '../registry/errors.ts';

/** Counts one call of a key. @throws ToolError (rate_limited) where the key has no calls left in this minute */
export type RateLimit = (key: string) => Promise<void>;

/** `what` names what is counted, as in "More than 5 calls a minute". */
export function createRateLimit(perMinute: number, what: string): RateLimit {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: 60 });
  return async (key) => {
    try {
      await limiter.consume(key);
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      const retryAfterSeconds = Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
      const message = `More than ${perMinute} ${what} a minute; try again in ${retryAfterSeconds} seconds.`;
      throw new ToolError('rate_limited', message, { retryAfterSeconds });
    }
  };
}
