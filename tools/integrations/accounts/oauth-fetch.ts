import { createFetch, type Fetch } from '../../core/outbound/fetch.ts';

const MOST_BYTES = 256 * 1024;
const LONGEST_MS = 20_000;

/** Runs the work with a `fetch` for the documents and endpoints of providers: guarded as that of integrations, and with a deadline for each. */
export async function withOAuthFetch<Result>(
  privateAddresses: boolean,
  work: (fetch: Fetch) => Promise<Result>,
): Promise<Result> {
  const { fetch, close } = createFetch({ privateAddresses, mostBytes: MOST_BYTES });
  const guarded: Fetch = (url, { body, headers, ...init } = {}) => {
    const deadline = AbortSignal.timeout(LONGEST_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
    const text = body instanceof URLSearchParams ? body.toString() : body;
    return fetch(url, { ...init, ...(headers && { headers }), ...(text && { body: text }), signal });
  };
  try {
    return await work(guarded);
  } finally {
    close();
  }
}
