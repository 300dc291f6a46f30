import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ToolError } from '../registry/errors.ts';

/** Takes one of the points that a key has each minute. @throws ToolError (rate_limited) where none is left */
export type RateLimit = (key: string) => Promise<void>;

/** `what`: that of which there was too much, as in "More than 5 calls a minute". */
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
