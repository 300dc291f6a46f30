import { selectClientAuthMethod } from '@modelcontextprotocol/client';
import { createFetch, type Fetch } from '../../core/outbound/fetch.ts';
import type { AccountSecrets } from './account-secrets.ts';

/** Ends the tokens at their provider (RFC 7009), where it has an endpoint for that. Whether it did. */
export async function revokeTokens(secrets: AccountSecrets, privateAddresses: boolean): Promise<boolean> {
  const endpoint = revocationEndpoint(secrets);
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return false;
  const url = new URL(endpoint);
  if (url.protocol !== 'https:' && !privateAddresses) return false;
  const { access_token: access, refresh_token: refresh } = secrets.tokens;
  return withOAuthFetch(privateAddresses, async (fetch) => {
    // The refresh token first: most providers end its access tokens with it.
    const statuses: number[] = [];
    for (const [token, hint] of [
      [refresh, 'refresh_token'],
      [access, 'access_token'],
    ] as const) {
      if (token === undefined) continue;
      const body = new URLSearchParams({ token, token_type_hint: hint });
      const response = await fetch(url, { method: 'POST', ...requestOf(secrets, body) });
      await response.body?.cancel();
      statuses.push(response.status);
    }
    return statuses.every((status) => status === 200);
  });
}

function requestOf({ client, discovery }: AccountSecrets, body: URLSearchParams) {
  const headers = new Headers({ 'Content-Type': 'application/x-www-form-urlencoded' });
  const { client_id: id, client_secret: secret } = client.information;
  const known = discovery.authorizationServerMetadata?.token_endpoint_auth_methods_supported ?? [];
  const method = selectClientAuthMethod(client.information, known);
  if (method === 'client_secret_basic') headers.set('Authorization', `Basic ${btoa(`${id}:${secret}`)}`);
  else body.set('client_id', id);
  if (method === 'client_secret_post' && secret !== undefined) body.set('client_secret', secret);
  return { headers, body };
}

function revocationEndpoint({ discovery }: AccountSecrets): unknown {
  const metadata: object = discovery.authorizationServerMetadata ?? {};
  return 'revocation_endpoint' in metadata ? metadata.revocation_endpoint : undefined;
}

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
