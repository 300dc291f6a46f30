import { hash } from 'node:crypto';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Cluster } from '../../../store/cluster-port.ts';
import { ToolError } from '../errors.ts';

/** Counts one call of a key. @throws ToolError (rate_limited) if the key has no calls left in this minute */
export type RateLimit = (key: string) => Promise<void>;

interface Counting {
  /** Where other processes count the same calls. Undefined: this process counts alone. */
  readonly cluster: Cluster | undefined;
  /** Names the limit among all of the server. Default: what is counted. */
  readonly name?: string;
  /** Default: a minute. */
  readonly periodMs?: number;
}

/** `what` names what is counted, as in "More than 5 calls a minute". */
export function createRateLimit(perMinute: number, what: string, counting: Counting): RateLimit {
  const { cluster, name = what, periodMs = PERIOD_MS } = counting;
  const take = cluster ? countedTogether(cluster, { perMinute, name, periodMs }) : countedHere(perMinute, periodMs);
  return async (key) => {
    const refusedMs = await take(key);
    if (refusedMs === undefined) return;
    const retryAfterSeconds = Math.max(1, Math.ceil(refusedMs / 1000));
    const message = `More than ${perMinute} ${what} a minute; try again in ${retryAfterSeconds} seconds.`;
    throw new ToolError('rate_limited', message, { retryAfterSeconds, notMade: true });
  };
}

/** Takes one call. Answers for how many milliseconds there are no more, undefined if there was one. */
type Take = (key: string) => Promise<number | undefined>;

const PERIOD_MS = 60_000;

function countedHere(perMinute: number, periodMs: number): Take {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: periodMs / 1000 });
  return async (key) => {
    try {
      await limiter.consume(key);
      return undefined;
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      return refused.msBeforeNext;
    }
  };
}

/** A key is asked about at most so many times a minute, and once more by each process. */
const MOST_QUESTIONS = 600;
const MOST_KEYS = 10_000;

interface Counted {
  readonly perMinute: number;
  readonly name: string;
  readonly periodMs: number;
}

/** What this process knows of a key until the period ends. */
interface Share {
  /** Calls that it may let through without asking. */
  left: number;
  /** Nobody has any left. */
  isOver: boolean;
  until: number;
  /** Callers who wait for an answer. */
  waiting: number;
  asking: Promise<void> | undefined;
}

/** Together, processes let no more through than the limit. Above 600 calls a minute each takes several at a time; what it does not use is lost. */
function countedTogether(cluster: Cluster, { perMinute, name, periodMs }: Counted): Take {
  const block = Math.max(1, Math.floor(perMinute / MOST_QUESTIONS));
  const shares = new Map<string, Share>();

  async function ask(share: Share, key: string): Promise<void> {
    const wanted = Math.max(block, share.waiting);
    const counted = `${name} ${perMinute} ${hash('sha256', key, 'base64url')}`;
    const { points, endsInMs } = await cluster.count(counted, wanted, periodMs);
    const mine = Math.min(wanted, perMinute - (points - wanted));
    share.until = performance.now() + endsInMs;
    share.isOver = mine <= 0;
    share.left = Math.max(0, mine);
  }

  return async (key) => {
    if (shares.size >= MOST_KEYS) shares.clear();
    const share = shares.get(key) ?? { left: 0, isOver: false, until: 0, waiting: 0, asking: undefined };
    shares.set(key, share);
    share.waiting += 1;
    try {
      for (;;) {
        const endsInMs = share.until - performance.now();
        if (endsInMs > 0 && share.left > 0) {
          share.left -= 1;
          return undefined;
        }
        if (endsInMs > 0 && share.isOver) return endsInMs;
        share.asking ??= ask(share, key).finally(() => {
          share.asking = undefined;
        });
        await share.asking;
      }
    } finally {
      share.waiting -= 1;
    }
  };
}
