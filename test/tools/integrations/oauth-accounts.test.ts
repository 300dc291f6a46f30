import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { mustCall } from '../../support/calls.ts';
import { type OAuthUpstream, startOAuthUpstream } from '../../support/oauth-upstream.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';
import { callRaw, errorOfCall } from '../../support/upstream.ts';
import { WebClient, type WebPage } from '../../support/web-client.ts';

let server: TestServer;
let upstream: OAuthUpstream;
// biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
const admin = (tool: string, input: object = {}): Promise<any> => mustCall(server, server.adminKey, tool, input);

before(async () => {
  [server, upstream] = await Promise.all([startTestServer(), startOAuthUpstream()]);
});
after(() => Promise.all([server.close(), upstream.close()]));
afterEach(async () => {
  upstream.needs = undefined;
  upstream.callback = undefined;
  for (const { id } of (await admin('list_integrations')).data) await admin('delete_integration', { id });
});

/** A person with a browser in which they are signed in. */
async function person(email: string) {
  const { records } = await server.store.adminUsers.find({ where: { email }, limit: 1 });
  const id = records[0]?.id ?? (await admin('create_admin_user', { email, role: 'admin' })).id;
  const cookie = await signIn(server, email);
  const browser = new WebClient();
  const [name = '', value = ''] = cookie.split('=');
  browser.cookies.set(new URL(server.baseUrl).origin, new Map([[name, value]]));
  return { id, email, browser, cookie };
}
type Person = Awaited<ReturnType<typeof person>>;

/** Opens the link and agrees at the provider as this account. */
async function follow(
  { browser }: Pick<Person, 'browser'>,
  url: string,
  account: string | undefined,
): Promise<WebPage> {
  upstream.person = account;
  await browser.open(url);
  if (!browser.page.text.includes('<form')) return browser.page;
  await browser.send();
  if (browser.page.status !== 200) return browser.page;
  const [, next] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(browser.page.text) ?? [];
  assert.ok(next, browser.page.text);
  return browser.open(next.replaceAll('&amp;', '&'));
}

async function connect(one: Person, integrationId: string, account: string): Promise<void> {
  const { url } = await mustCall(server, one.cookie, 'connect_integration', { id: integrationId });
  const page = await follow(one, url, account);
  assert.match(page.heading, /is connected/, page.text);
}

const create = (auth: string, more: object = {}) =>
  admin('create_integration', { name: 'Private', transport: 'http', url: upstream.url, auth, accept: true, ...more });

const text = async (key: string) => (await callRaw(server, 'private__whoami', {}, key)).content?.[0].text;

describe('an integration with one account for all', () => {
  it('wants it to be connected by an administrator, once', async () => {
    const { id, status, auth } = await create('oauth-shared');
    assert.deepEqual([status.state, auth], ['wants_oauth', 'oauth-shared']);
    assert.match(status.lastError, /connect_integration/);
    const ada = await person('ada@example.com');
    await connect(ada, id, 'company');
    await admin('refresh_integration', { id, accept: true });
    assert.equal(await text(server.adminKey), 'you are company');
    const { data } = await admin('list_integration_accounts');
    assert.deepEqual(
      data.map(({ integrationId, userId, status }: Record<string, unknown>) => ({ integrationId, userId, status })),
      [{ integrationId: id, userId: undefined, status: 'connected' }],
    );
  });
});

describe('an integration with an account for each person', () => {
  it('shows each their own data only, and a link to who has no account', async () => {
    const { id, status } = await create('oauth-per-person');
    assert.equal(status.state, 'per_person');
    const [ada, bob] = [await person('ada@example.com'), await person('bob@example.com')];
    await connect(ada, id, 'ada-there');
    await mustCall(server, ada.cookie, 'refresh_integration', { id, accept: true });
    assert.equal(await text(ada.cookie), 'you are ada-there');
    const refused = await errorOfCall(server, 'private__whoami', {}, bob.cookie);
    assert.equal(refused.code, 'conflict');
    const [link = ''] = /http\S+link=\S+/.exec(refused.error) ?? [];
    assert.match((await follow(bob, link, 'bob-there')).heading, /is connected/);
    assert.equal(await text(bob.cookie), 'you are bob-there');
    assert.equal(await text(ada.cookie), 'you are ada-there');
    const { data } = await mustCall(server, ada.cookie, 'list_integration_accounts', {});
    assert.equal(data.length, 2);
  });
});
