import { selectClientAuthMethod } from '@modelcontextprotocol/client';
import type { AccountSecrets } from './account-secrets.ts';
import { withOAuthFetch } from './oauth-fetch.ts';

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
