import { setTimeout as sleep } from 'node:timers/promises';

/** Attempts in all, and how long is waited for the next one. */
const ATTEMPTS = 3;
const FIRST_WAIT_MS = 500;
/** What a provider may ask for by `Retry-After`; who asks for more is not asked again. */
const LONGEST_WAIT_MS = 20_000;

type Fetch = typeof globalThis.fetch;

/**
 * Asks a model provider, again where it is busy or out of reach. Once it has begun to answer it is not asked again: what it said may
 * have been shown. Redirects are refused, for the key would travel along.
 */
export const providerFetch: Fetch = async (resource, init = {}) => {
  for (let attempt = 1; ; attempt++) {
    const last = attempt === ATTEMPTS;
    const answer = await ask(resource, init, last);
    const wait = answer ? waitFor(answer, attempt) : FIRST_WAIT_MS * 2 ** (attempt - 1);
    if (answer && (last || wait === undefined)) return answer;
    await answer?.body?.cancel();
    await sleep(wait, undefined, init.signal ? { signal: init.signal } : undefined);
  }
};

async function ask(resource: Parameters<Fetch>[0], init: RequestInit, last: boolean): Promise<Response | undefined> {
  try {
    return await fetch(resource, { ...init, redirect: 'error' });
  } catch (error) {
    if (last || init.signal?.aborted) throw error;
    return undefined;
  }
}

/** Milliseconds until the next attempt; undefined where the answer is to be taken as it is. */
function waitFor({ status, headers }: Response, attempt: number): number | undefined {
  if (status !== 408 && status !== 429 && status < 500) return undefined;
  const asked = headers.get('retry-after');
  if (asked === null) return FIRST_WAIT_MS * 2 ** (attempt - 1);
  const seconds = Number(asked);
  const wait = Number.isNaN(seconds) ? Date.parse(asked) - Date.now() : seconds * 1000;
  return wait <= LONGEST_WAIT_MS ? Math.max(0, wait) : undefined;
}
