import assert from 'node:assert/strict';
import { send } from '../support/http.ts';
import { type OAuthClient, signedIn } from '../support/oauth.ts';
import type { PlantedServer } from './planted-server.ts';

/** Opens every page that the server has, as a stranger and signed in. */
export async function openPages(server: PlantedServer, cookie: string, confidential: OAuthClient): Promise<void> {
  const browser = await signedIn(server);
  await browser.open(confidential.authorizeUrl());
  assert.match(browser.page.heading, /./);
  const paths = ['/', '/sign-in', '/sign-in/again', '/integrations', '/keys', '/guides', '/no/such', '/api/v1/openapi'];
  const open = [
    '/readyz',
    '/healthz',
    '/.well-known/jwks.json',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource',
  ];
  for (const path of [...paths, ...open, '/api/v1/metrics', '/api/v1/mcp', '/oauth/authorize']) {
    for (const headers of [{}, { Cookie: cookie }, { Authorization: `Bearer ${server.adminKey}` }])
      await send(`${server.baseUrl}${path}`, { headers: { Accept: 'text/html', ...headers } });
  }
}
