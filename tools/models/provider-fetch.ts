import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../store/backoff.ts';
import { outgoingTrace } from '../core/telemetry/span.ts';

export const ATTEMPTS = 3;
/** The longest wait that a provider may ask for with `Retry-After`. If it asks for more, there is no further attempt. */
export const LONGEST_WAIT_MS = 20_000;
const BACKOFF = { firstMs: 500, longestMs: LONGEST_WAIT_MS };

type Fetch = typeof globalThis.fetch;

/**
 * Sends a request to a model provider, and repeats it where the provider is busy or cannot be reached. Once the provider has begun to
 * answer, the request is not repeated, because part of the answer may have been shown. Redirects are refused, because the key would be sent
 * to the new address.
 */
export const providerFetch: Fetch = async (resource, init = {}) => {
  for (let attempt = 1; ; attempt++) {
    const last = attempt === ATTEMPTS;
    const answer = await ask(resource, init, last);
    const wait = answer ? waitFor(answer, attempt) : backoffMs(attempt - 1, BACKOFF);
    if (answer && (last || wait === undefined)) return answer;
    await answer?.body?.cancel();
    await sleep(wait, undefined, init.signal ? { signal: init.signal } : undefined);
  }
};

async function ask(resource: Parameters<Fetch>[0], init: RequestInit, last: boolean): Promise<Response | undefined> {
  try {
    return await fetch(resource, { ...init, headers: traced(init.headers), redirect: 'error' });
  } catch (error) {
    if (last || init.signal?.aborted) throw error;
    return undefined;
  }
}

/** The headers, with those by which the provider continues the trace. */
function traced(headers: RequestInit['headers']): Headers {
  const all = new Headers(headers);
  for (const [name, value] of Object.entries(outgoingTrace() ?? {})) all.set(name, value);
  return all;
}

/** Milliseconds to wait before the next attempt. Undefined if the answer is final. */
function waitFor({ status, headers }: Response, attempt: number): number | undefined {
  if (status !== 408 && status !== 429 && status < 500) return undefined;
  const asked = headers.get('retry-after');
  if (asked === null) return backoffMs(attempt - 1, BACKOFF);
  const seconds = Number(asked);
  const wait = Number.isNaN(seconds) ? Date.parse(asked) - Date.now() : seconds * 1000;
  return wait <= LONGEST_WAIT_MS ? Math.max(0, wait) : undefined;
}
