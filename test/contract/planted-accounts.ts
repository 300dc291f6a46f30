import { callsOf, mustCall } from '../support/calls.ts';
import type { Canaries } from '../support/canaries.ts';
import { ENCODINGS } from '../support/encodings.ts';
import { signedIn } from '../support/oauth.ts';
import type { OAuthUpstream } from '../support/oauth-upstream.ts';
import type { PlantedServer } from './planted-server.ts';

/** Accounts at another server, one for all and one of a person, whose tokens are renewed and which repeats those that it is sent. */
export async function plantAccounts(server: PlantedServer, canaries: Canaries): Promise<void> {
  const { oauth } = server.far;
  const browser = await signedIn(server);
  const cookie = [...(browser.cookies.get(new URL(server.baseUrl).origin) ?? [])]
    .map((pair) => pair.join('='))
    .join('; ');
  const call = (tool: string, input: object = {}) => callsOf({ ...server, adminKey: cookie }).call(tool, input);
  repeatTokens(oauth);
  for (const auth of ['oauth-shared', 'oauth-per-person']) {
    const toolPrefix = auth === 'oauth-shared' ? 'shared' : 'person';
    const { id } = await mustCall(server, cookie, 'create_integration', {
      ...{ name: auth, transport: 'http', url: oauth.url, auth, toolPrefix, accept: true },
    });
    oauth.person = `${toolPrefix}@example.com`;
    browser.cookies.delete(oauth.issuer); // so that nobody is signed in at the provider
    await browser.open((await mustCall(server, cookie, 'connect_integration', { id })).url);
    await browser.send();
    const [, next = ''] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(browser.page.text) ?? [];
    if (next !== '') await browser.open(next.replaceAll('&amp;', '&'));
    if (!/is connected/.test(browser.page.heading)) throw new Error(`${auth}: ${browser.page.text}`);
    plantTokens(oauth, canaries);
    await mustCall(server, cookie, 'refresh_integration', { id, accept: true });
    await call(`${toolPrefix}__whoami`);
    oauth.refuseTokens(); // the next call renews them
    const given = oauth.tokens.length;
    await call(`${toolPrefix}__whoami`);
    if (oauth.tokens.length === given) throw new Error(`${auth}: no token was renewed`);
    plantTokens(oauth, canaries);
    await call(`${toolPrefix}__whoami`);
    await call('list_integration_accounts');
    await call('get_integration', { id });
  }
}

/** In the order in which the provider gave them out: an access token, then a refresh token. */
function plantTokens({ tokens }: OAuthUpstream, canaries: Canaries): void {
  for (const [at, token] of tokens.entries())
    canaries.plant(`${at % 2 === 0 ? 'access' : 'refresh'} token of an account`, token);
}

function repeatTokens(oauth: OAuthUpstream): void {
  oauth.answer = ({ method }, _, token) => {
    if (method !== 'tools/call') return undefined;
    const text = [token, ...ENCODINGS.map((encode) => encode(token))].join('\n');
    return { content: [{ type: 'text', text }] };
  };
}
