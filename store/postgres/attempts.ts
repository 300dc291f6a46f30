import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../backoff.ts';
import { StoreUnavailable } from '../errors.ts';
import { isConflict } from './failures.ts';

const ATTEMPTS = 8;
const BACKOFF = { firstMs: 10, longestMs: 80 };

/**
 * Runs a whole transaction again where another one was in its way.
 * @throws StoreUnavailable after 8 attempts
 */
export async function withRetries<Result>(
  transaction: (attempt: number) => Promise<Result>,
  isRetried: (error: unknown) => boolean = isConflict,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction(attempt);
    } catch (cause) {
      if (!isRetried(cause)) throw cause;
      if (attempt === ATTEMPTS) throw new StoreUnavailable('others kept changing the same records', { cause });
    }
    // Random, so that those that met each other do not meet again.
    await sleep(Math.random() * backoffMs(attempt - 1, BACKOFF));
  }
}
