import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../../store/backoff.ts';
import { createFetch } from '../outbound/fetch.ts';
import { outgoingTrace } from '../telemetry/span.ts';

export const ATTEMPTS = 3;
/** The longest wait that a provider may ask for with `Retry-After`. If it asks for more, there is no further attempt. */
export const LONGEST_WAIT_MS = 20_000;
const BACKOFF = { firstMs: 500, longestMs: LONGEST_WAIT_MS };
/** The largest event of a stream, or body, that a provider may answer. */
const MOST_BYTES = 8 * 2 ** 20;

export type Fetch = typeof globalThis.fetch;

/** Requests as they are, for providers of the environment. A redirect would get the key: refused. */
const plainFetch: Fetch = (resource, init = {}) =>
  fetch(resource, { ...init, headers: traced(init.headers), redirect: 'error' });

/** Requests for providers that callers set up: only to addresses that integrations may have, too. */
export function ssrfSafeFetch(privateAddresses: boolean): Fetch {
  const guarded = createFetch({ privateAddresses, mostBytes: MOST_BYTES });
  return async (resource, init = {}) => {
    try {
      return await guarded.fetch(resource instanceof Request ? resource.url : resource, init);
    } catch (cause) {
      // The form in which the library takes a server for one that could not be reached.
      throw init.signal?.aborted ? cause : new TypeError('fetch failed', { cause });
    }
  };
}

/** A request to a model provider, repeated while it is busy or unreachable, but not once it answered. */
export function withRetries(send: Fetch = plainFetch): Fetch {
  return async (resource, init = {}) => {
    for (let attempt = 1; ; attempt++) {
      const last = attempt === ATTEMPTS;
      const answer = await ask(send, [resource, init], last);
      const wait = answer ? waitFor(answer, attempt) : backoffMs(attempt - 1, BACKOFF);
      if (answer && (last || wait === undefined)) return answer;
      await answer?.body?.cancel();
      await sleep(wait, undefined, init.signal ? { signal: init.signal } : undefined);
    }
  };
}

async function ask(
  send: Fetch,
  [resource, init]: [Parameters<Fetch>[0], RequestInit],
  last: boolean,
): Promise<Response | undefined> {
  try {
    return await send(resource, init);
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

/** Milliseconds to wait before the next attempt. Undefined if the answer is final. Vendors say so with `x-should-retry`, and finer than in seconds. */
function waitFor({ status, headers }: Response, attempt: number): number | undefined {
  const said = headers.get('x-should-retry');
  const isBusy = status === 408 || status === 429 || status >= 500;
  if (said === 'false' || (!isBusy && !(said === 'true' && status >= 400))) return undefined;
  const wait = wishedMs(headers);
  if (wait === undefined) return backoffMs(attempt - 1, BACKOFF);
  return wait <= LONGEST_WAIT_MS ? Math.max(0, wait) : undefined;
}

/** Seconds, or a date; undefined where it is neither. */
function wishedMs(headers: Headers): number | undefined {
  const milliseconds = numberIn(headers.get('retry-after-ms'));
  if (milliseconds !== undefined) return milliseconds;
  const asked = headers.get('retry-after');
  const seconds = numberIn(asked);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(asked ?? '');
  return Number.isNaN(date) ? undefined : date - Date.now();
}

function numberIn(text: string | null): number | undefined {
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}
