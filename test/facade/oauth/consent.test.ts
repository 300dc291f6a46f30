import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mustCall, rest } from '../../support/calls.ts';
import { capsuleClients } from '../../support/capsules.ts';
import { CALLBACK, decided, OAuthClient, signedIn } from '../../support/oauth.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';
import { until } from '../../support/until.ts';
import { WebClient } from '../../support/web-client.ts';

let server: TestServer;
let cookie = '';
before(async () => {
  server = await startTestServer({ TRUSTED_PROXIES: 'loopback' });
  cookie = await signIn(server);
});
after(() => server?.close());
const { make, endpoint } = capsuleClients(() => server);
const admin = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });

function send(address: string, token: string, method: string, params?: object) {
  return rest(server, 'POST', new URL(address).pathname, { key: token, body: message(method, params) });
}

async function namesAt(address: string, token: string): Promise<string[]> {
  const { body, status } = await send(address, token, 'tools/list');
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.tools.map(({ name }: { name: string }) => name);
}

async function capsuleAsking(input: object = {}) {
  const capsule = await make({
    name: 'Support',
    allowedTools: ['list_agents', 'create_project'],
    status: 'live',
    ...input,
  });
  const resource = endpoint(capsule.id);
  return { capsule, resource, client: await OAuthClient.registered(server) };
}

function browserOfAdmin(): WebClient {
  const browser = new WebClient();
  const [name = '', value = ''] = cookie.split('=');
  browser.cookies.set(new URL(server.baseUrl).origin, new Map([[name, value]]));
  return browser;
}

async function connected(client: OAuthClient, entered: Readonly<Record<string, string>> = {}, scope?: string) {
  const browser = browserOfAdmin();
  await browser.open(client.authorizeUrl({ scope }));
  return tokensOf(client, await decided(browser, { decision: 'allow', ...entered }));
}

async function tokensOf(client: OAuthClient, left: URL) {
  const { status, body } = await client.redeem(left.searchParams.get('code') ?? '');
  assert.equal(status, 200, JSON.stringify(body));
  return body as { access_token: string; refresh_token: string; scope: string };
}

const ALL = 'read write admin';

function offeredIn(text: string): (string | undefined)[] {
  const values = [...text.matchAll(/name="give" value="(\w+)"/g)].map(([, value]) => value);
  return values.filter((value) => value !== 'capsule');
}

describe('the consent page', () => {
  it('says who asks, for what and as whom', async () => {
    const client = await OAuthClient.registered(server, { client_name: 'Desk' });
    const { heading, text, headers } = await browserOfAdmin().open(client.authorizeUrl({ scope: ALL }));
    assert.equal(heading, 'Connect an app on this computer?');
    assert.match(text, /<strong>Unverified\.<\/strong> It calls itself “Desk”/);
    assert.match(text, /<dt>As<\/dt><dd>admin@localhost<\/dd>/);
    assert.match(text, /change nothing\. \d+ tools\./);
    assert.match(text, /<code>delete_agent<\/code>/);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /form-action 'self' http:\/\/127\.0\.0\.1:33999;/);
    assert.match(policy, /default-src 'none';.*frame-ancestors 'none'/);
    assert.equal(headers.get('x-frame-options'), 'DENY');
    assert.ok(!/<script/i.test(text));
  });

  it('shows a name that another host took as unverified, and the host instead of it', async () => {
    const redirect = 'https://claude.evil.example/back';
    const client = await OAuthClient.registered(server, {
      client_name: 'Claude</h1><script>x</script>',
      redirect_uris: [redirect],
    });
    const { heading, text } = await browserOfAdmin().open(client.authorizeUrl({ redirect_uri: redirect }));
    assert.equal(heading, 'Connect an app of claude.evil.example?');
    assert.match(text, /Unverified\..*goes to <strong>claude\.evil\.example<\/strong>/);
    assert.ok(!text.includes('<script>x') && text.includes('&lt;script&gt;'));
  });

  it('lets the browser go back to an app that has a scheme of its own', async () => {
    const redirect = 'cursor://anysphere.cursor-retrieval/oauth/callback';
    const client = await OAuthClient.registered(server, { client_name: 'Cursor', redirect_uris: [redirect] });
    const browser = browserOfAdmin();
    const { heading, headers } = await browser.open(client.authorizeUrl({ redirect_uri: redirect }));
    assert.equal(heading, 'Connect the app for cursor://?');
    assert.match(headers.get('content-security-policy') ?? '', /form-action 'self' cursor:;/);
    assert.ok((await decided(browser, { decision: 'allow' })).href.startsWith(`${redirect}?code=`));
  });

  it('names a client that an administrator made', async () => {
    const redirectUris = ['https://portal.example.com/back'];
    const made = await admin('create_oauth_client', { name: 'Portal', redirectUris, confidential: false });
    const client = new OAuthClient(server, made.clientId);
    const { heading, text } = await browserOfAdmin().open(client.authorizeUrl({ redirect_uri: redirectUris[0] }));
    assert.equal(heading, 'Connect Portal?');
    assert.match(text, /<dt>Goes to<\/dt><dd>portal\.example\.com<\/dd>/);
    assert.ok(!text.includes('Unverified'));
    await admin('delete_oauth_client', { id: made.id });
    assert.equal((await browserOfAdmin().open(client.authorizeUrl({ redirect_uri: redirectUris[0] }))).status, 400);
  });

  it('leaves the window to an app that opened it, and the other pages do not', async () => {
    const client = await OAuthClient.registered(server);
    const browser = new WebClient();
    const policyAt = async (address: string) => (await browser.open(address)).headers.get('cross-origin-opener-policy');
    assert.equal(await policyAt(`${server.baseUrl}/sign-in`), 'same-origin');
    assert.equal(await policyAt(client.authorizeUrl()), null, 'the page that signs in first');
    assert.equal((await browserOfAdmin().open(client.authorizeUrl())).headers.get('cross-origin-opener-policy'), null);
  });

  it('has a person sign in first, and come back', async () => {
    const client = await OAuthClient.registered(server);
    const browser = new WebClient();
    assert.equal((await browser.open(client.authorizeUrl())).url.pathname, '/sign-in');
    assert.match(browser.page.text, /An app waits to be connected/);
    const { url } = await admin('create_sign_in_link', { email: 'admin@localhost' });
    await browser.open(url);
    const page = await browser.send();
    assert.match(page.url.pathname, /^\/oauth\/consent\//);
    assert.equal((await decided(browser, { decision: 'allow' })).origin, new URL(CALLBACK).origin);
    await browser.open(`${server.baseUrl}/sign-in`);
    assert.equal(browser.page.url.pathname, '/', 'it is forgotten once the person came back');
  });

  it('lets a person go on as somebody else, and comes back', async () => {
    const email = 'else@example.com';
    await admin('create_admin_user', { email });
    const client = await OAuthClient.registered(server);
    const browser = new WebClient();
    await browser.open(client.authorizeUrl());
    await browser.open((await admin('create_sign_in_link', { email: 'admin@localhost' })).url);
    const { text } = await browser.send();
    assert.match(text, /<button class="quiet">Sign in as somebody else<\/button>/);
    const form = /name="form" value="([^"]*)"/.exec(text)?.[1] ?? '';
    assert.equal((await browser.post('/sign-out', new URLSearchParams({ form }))).url.pathname, '/sign-in');
    await browser.open((await admin('create_sign_in_link', { email })).url);
    assert.match((await browser.send()).text, /<dt>As<\/dt><dd>else@example\.com<\/dd>/);
    await decided(browser, { decision: 'allow' });
  });

  it('hands out reading unless the person chooses otherwise', async () => {
    const client = await OAuthClient.registered(server);
    const reading = await connected(client);
    assert.equal(reading.scope, 'read');
    assert.ok(!(await namesAt(client.resource, reading.access_token)).includes('create_agent'));
    const less = await connected(await OAuthClient.registered(server), {}, ALL);
    assert.equal(less.scope, 'read');
    const writing = await connected(client, { give: 'write' }, ALL);
    assert.equal(writing.scope, 'read write');
    const names = await namesAt(client.resource, writing.access_token);
    assert.ok(names.includes('create_agent') && !names.includes('update_settings'));
    const all = await connected(client, { give: 'admin' }, ALL);
    assert.ok((await namesAt(client.resource, all.access_token)).includes('update_settings'));
  });

  it('hands out no more than was asked, whatever the form says', async () => {
    const { capsule } = await capsuleAsking();
    const reading = await make({ name: 'Reading', status: 'live', allowedTools: ['list_agents'] });
    const client = await OAuthClient.registered(server);
    for (const [scope, offered, more] of [
      [undefined, ['read'], 'write'],
      ['read', ['read'], 'write'],
      ['read openid', ['read'], 'admin'],
      ['write', ['read', 'write'], 'admin'],
    ] as const) {
      const browser = browserOfAdmin();
      const { text } = await browser.open(client.authorizeUrl({ scope }));
      assert.deepEqual(offeredIn(text), offered);
      const refused = await browser.send({ decision: 'allow', give: more });
      assert.equal(refused.status, 400, `${scope}: ${more}`);
      assert.match(refused.text, /role="alert">The app did not ask for so much/);
      assert.deepEqual(
        [text, refused.text].map((page) => page.includes('<title>Problem: ')),
        [false, true],
      );
      const given = await tokensOf(client, await decided(browser, { decision: 'allow', give: offered.at(-1) ?? '' }));
      assert.equal(given.scope, offered.join(' '));
    }
    const browser = browserOfAdmin();
    const { text } = await browser.open(client.authorizeUrl({ scope: 'read' }));
    assert.ok(text.includes(reading.id) && !text.includes(capsule.id), 'a capsule that writes is more than reading');
    assert.equal((await browser.send({ decision: 'allow', give: 'capsule', capsule: capsule.id })).status, 400);
  });

  it('has a person who signed in long ago confirm that it is them before an app may administer, and goes on as they chose', async () => {
    const client = await OAuthClient.registered(server);
    const [own, elsewhere] = [browserOfAdmin(), browserOfAdmin()];
    server.clock.pass(11 * 60 * 1000);
    await own.open(client.authorizeUrl({ scope: ALL }));
    const page = await own.send({ decision: 'allow', give: 'admin' });
    assert.deepEqual([page.heading, page.url.pathname], ['Confirm that it is you', '/sign-in/again']);
    assert.match(page.text, /An app that may administer the workspace is let in/);
    const then = page.url.searchParams.get('then') ?? '';
    assert.equal((await own.open(`${server.baseUrl}${then}`)).status, 200);
    assert.match(own.page.text, /value="admin"/, 'nobody has confirmed anything, so the page asks');
    assert.equal(
      (await own.open(`${server.baseUrl}/sign-in/confirmed?then=${encodeURIComponent(then)}`)).url.pathname,
      '/sign-in/again',
    );
    await own.open((await admin('create_sign_in_link', { email: 'admin@localhost' })).url);
    const left = await decided(own, {});
    const tokens = await tokensOf(client, left);
    assert.equal(tokens.scope, ALL);
    // What was decided counts in that browser, for that choice and that request alone.
    await elsewhere.open(`${server.baseUrl}/sign-in`);
    const fresh = await signIn(server);
    for (const browser of [own, elsewhere])
      browser.cookies.get(new URL(server.baseUrl).origin)?.set('admin-session', fresh.split('=')[1] ?? '');
    const [next, mark] = [client.authorizeUrl({ scope: ALL }), new URL(then, server.baseUrl).searchParams.get('mark')];
    for (const browser of [own, elsewhere]) {
      const { url } = await browser.open(next);
      for (const forged of [mark, 'x'.repeat(43), '']) {
        const shown = await browser.open(`${url.origin}${url.pathname}?give=admin&mark=${forged}`);
        assert.match(shown.text, /<button name="decision" value="allow">/);
      }
    }
    const reading = await tokensOf(client, await decided(own, { decision: 'allow', give: 'read' }));
    assert.equal(reading.scope, 'read', 'reading needs no confirmation');
    cookie = fresh;
  });

  it('sends nobody elsewhere after confirming', async () => {
    const browser = browserOfAdmin();
    for (const then of ['https://evil.example/', '//evil.example/oauth/consent/', '/', '/sign-out']) {
      const { url } = await browser.open(`${server.baseUrl}/sign-in/confirmed?${new URLSearchParams({ then })}`);
      assert.deepEqual([url.origin, url.pathname], [new URL(server.baseUrl).origin, '/sign-in/confirmed']);
    }
  });

  it('offers a person with a limit no more than they have, and the app has less as soon as they have less', async () => {
    const email = 'limited@example.com';
    const access = { scopes: ['write'] };
    const { id } = await admin('create_admin_user', { email, access });
    await make({ name: 'Of others', status: 'live' });
    const browser = await signedIn(server, email);
    const client = await OAuthClient.registered(server);
    const { text } = await browser.open(client.authorizeUrl({ scope: ALL }));
    assert.deepEqual(offeredIn(text), ['read', 'write']);
    assert.equal((await browser.send({ decision: 'allow', give: 'admin' })).status, 400);
    const tokens = await tokensOf(client, await decided(browser, { decision: 'allow', give: 'write' }));
    assert.ok((await namesAt(client.resource, tokens.access_token)).includes('create_agent'));
    await admin('update_admin_user', { id, access: { scopes: ['read'], grants: ['agent:read'] } });
    const names = await namesAt(client.resource, tokens.access_token);
    assert.ok(
      names.includes('get_agent') && !names.includes('create_agent') && !names.includes('list_skills'),
      names.join(),
    );
    const refused = await send(client.resource, tokens.access_token, 'tools/call', { name: 'create_agent' });
    assert.equal(refused.status, 200, 'there is nothing to ask for');
    await admin('deactivate_admin_user', { id });
    assert.equal((await send(client.resource, tokens.access_token, 'tools/list')).status, 401);
  });

  it('lets a person with the grant for a capsule connect it, with no more than both have', async () => {
    const { capsule, resource, client } = await capsuleAsking();
    const email = 'user@example.com';
    const grants = [`capsule:use:${capsule.id}`, 'agent:read'];
    const { id } = await admin('create_admin_user', { email, access: { scopes: ['read'], grants } });
    const browser = await signedIn(server, email);
    await browser.open(client.authorizeUrl({ resource }));
    const tokens = await tokensOf(client, await decided(browser, { decision: 'allow' }));
    assert.deepEqual(await namesAt(resource, tokens.access_token), ['list_agents']);
    await admin('update_admin_user', { id, access: { scopes: ['read'], grants: ['agent:read'] } });
    assert.equal((await send(resource, tokens.access_token, 'tools/list')).status, 401);
    const other = await browser.open(client.authorizeUrl({ resource }));
    assert.match(other.text, /who may not let apps in here/);
  });

  it('hands out one capsule at the unified endpoint', async () => {
    const { capsule, client } = await capsuleAsking();
    const tokens = await connected(client, { give: 'capsule', capsule: capsule.id }, ALL);
    assert.deepEqual(await namesAt(client.resource, tokens.access_token), ['list_agents', 'create_project']);
    const [{ scopes, capsuleId, userId }] = (await admin('list_connected_apps', { capsuleId: capsule.id })).data;
    assert.deepEqual([scopes, capsuleId, typeof userId], [[], capsule.id, 'string']);
    assert.equal((await send(endpoint(capsule.id), tokens.access_token, 'tools/list')).status, 401);
  });

  it('shows again what cannot be', async () => {
    const client = await OAuthClient.registered(server);
    const browser = browserOfAdmin();
    await browser.open(client.authorizeUrl());
    for (const entered of [{ give: 'everything' }, { give: 'capsule', capsule: '' }, { as: 'somebody@example.com' }]) {
      const { status, text } = await browser.send({ decision: 'allow', ...entered });
      assert.equal(status, 400, JSON.stringify(entered));
      assert.match(text, /role="alert"/);
    }
    const answer = await browser.send({
      decision: 'allow',
      give: 'capsule',
      capsule: 'cap_00000000000000000000000000',
    });
    assert.equal(answer.status, 400);
  });

  it('takes no for an answer', async () => {
    const client = await OAuthClient.registered(server);
    const browser = browserOfAdmin();
    await browser.open(client.authorizeUrl());
    const left = await decided(browser, { decision: 'deny' });
    const said = ['error', 'state', 'code'].map((name) => left.searchParams.get(name));
    assert.deepEqual(said, ['access_denied', 'its-state', null]);
    const of = { where: { clientId: client.clientId } };
    assert.equal(await server.store.connectedApps.count(of), 0);
    await server.store.audit.flush();
    const [entry] = (await admin('list_audit_entries', { tool: 'authorize_app', limit: 1 })).data;
    assert.deepEqual([entry.arguments.decision, entry.principal.type, entry.outcome], ['deny', 'session', 'ok']);
  });

  it('takes no form of another site, of another browser, or without its mark, and its own once', async () => {
    const client = await OAuthClient.registered(server);
    const browser = browserOfAdmin();
    const { url, text } = await browser.open(client.authorizeUrl());
    const refusals = [
      await browser.send({ decision: 'allow' }, { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }),
      await browser.post(url.href, new URLSearchParams({ decision: 'allow', give: 'read' })),
    ];
    assert.deepEqual(pluck(refusals, 'status'), [403, 403]);
    const form = /name="form" value="([^"]*)"/.exec(text)?.[1] ?? '';
    const other = browserOfAdmin();
    await other.open(`${server.baseUrl}/sign-in`);
    assert.equal((await other.post(url.href, new URLSearchParams({ form, decision: 'allow' }))).status, 403);
    assert.equal((await other.open(url.href)).status, 404, 'another browser has not asked');
    const of = { where: { clientId: client.clientId } };
    assert.equal(await server.store.connectedApps.count(of), 0);
    await browser.open(url.href);
    await decided(browser, { decision: 'allow' });
    assert.equal(await server.store.connectedApps.count(of), 1);
    assert.equal((await browser.open(url.href)).status, 404, 'it is answered');
  });
});

describe('the consent page of a capsule', () => {
  it('lets a person who may use it connect its tools', async () => {
    const { capsule, resource, client } = await capsuleAsking();
    const browser = browserOfAdmin();
    const { text } = await browser.open(client.authorizeUrl({ resource }));
    assert.match(text, /the capsule Support/);
    assert.match(text, /These: <code>create_project<\/code>, <code>list_agents<\/code>\./);
    const tokens = await tokensOf(client, await decided(browser, { decision: 'allow' }));
    assert.deepEqual(await namesAt(resource, tokens.access_token), ['list_agents', 'create_project']);
    assert.equal((await send(client.resource, tokens.access_token, 'tools/list')).status, 401);
    await admin('update_capsule', { id: capsule.id, status: 'disabled' });
    assert.equal((await send(resource, tokens.access_token, 'tools/list')).status, 401);
    await admin('update_capsule', { id: capsule.id, status: 'live' });
    assert.equal((await send(resource, tokens.access_token, 'tools/list')).status, 200);
    await admin('delete_capsule', { id: capsule.id });
    assert.equal((await send(resource, tokens.access_token, 'tools/list')).status, 401);
  });

  it('lets whoever has its token connect it, signed in nowhere, until the token is rotated', async () => {
    const { capsule, resource, client } = await capsuleAsking();
    const browser = new WebClient();
    await browser.open(client.authorizeUrl({ resource }));
    assert.match(browser.page.text, /Token of this address/);
    assert.ok(!browser.page.text.includes('Support'), 'nothing is said of the capsule before the token is given');
    const page = await browser.send({ decision: 'token', token: capsule.token });
    assert.equal(page.status, 200);
    assert.match(page.text, /the capsule Support/);
    assert.ok(!page.text.includes(capsule.token));
    const other = new WebClient();
    const cookies = [...(browser.cookies.get(page.url.origin) ?? [])].filter(([name]) => name !== 'admin-browser');
    other.cookies.set(page.url.origin, new Map(cookies));
    assert.match((await other.open(page.url.href)).text, /Token of this address/, 'another browser has shown none');
    const tokens = await tokensOf(client, await decided(browser, { decision: 'allow' }));
    assert.deepEqual(await namesAt(resource, tokens.access_token), ['list_agents', 'create_project']);
    const [{ id, userId }] = (await admin('list_connected_apps', { capsuleId: capsule.id })).data;
    assert.equal(userId, undefined);
    const called = await send(resource, tokens.access_token, 'tools/call', { name: 'list_agents' });
    assert.equal(called.status, 200);
    await server.store.audit.flush();
    const { data } = await admin('list_audit_entries', { principal: id, limit: 1 });
    assert.deepEqual([data[0].principal.type, data[0].onBehalfOf[0].id, data[0].door], ['app', capsule.id, 'capsule']);
    await admin('rotate_capsule_token', { id: capsule.id });
    assert.equal((await send(resource, tokens.access_token, 'tools/list')).status, 401);
    assert.equal((await client.refresh(tokens.refresh_token)).body.error, 'invalid_grant');
  });

  it('counts the calls of apps for the capsule, wherever they were connected, and notes when they were used', async () => {
    const { capsule, client, resource } = await capsuleAsking({ callsPerMinute: 2 });
    const browser = browserOfAdmin();
    await browser.open(client.authorizeUrl({ resource }));
    const there = await tokensOf(client, await decided(browser, { decision: 'allow' }));
    const here = await connected(client, { give: 'capsule', capsule: capsule.id }, ALL);
    const call = { name: 'list_agents' };
    assert.equal((await send(resource, there.access_token, 'tools/call', call)).status, 200);
    assert.equal((await send(client.resource, here.access_token, 'tools/call', call)).status, 200);
    assert.equal((await send(resource, there.access_token, 'tools/call', call)).status, 429);
    assert.equal((await send(client.resource, here.access_token, 'tools/call', call)).status, 429);
    await until(async () => {
      const { data } = await admin('list_connected_apps', { capsuleId: capsule.id });
      return data.length === 2 && data.every(({ lastUsedAt }: { lastUsedAt?: string }) => lastUsedAt !== undefined);
    });
    await until(async () => (await admin('get_capsule', { id: capsule.id })).callCount === 2);
  });

  it('takes five tokens a minute from one address, and keeps none of them anywhere', async () => {
    const { resource, client } = await capsuleAsking();
    const other = await make();
    const browser = new WebClient();
    await browser.open(client.authorizeUrl({ resource }));
    const from = (address: string) => ({ 'X-Forwarded-For': address });
    const statuses: number[] = [];
    for (let tries = 0; tries < 6; tries += 1) {
      const page = await browser.send({ decision: 'token', token: other.token }, from('203.0.113.9'));
      statuses.push(page.status);
    }
    assert.deepEqual(statuses, [400, 400, 400, 400, 400, 429]);
    assert.match(browser.page.text, /role="alert">More than 5 capsule tokens/);
    const elsewhere = await browser.send({ decision: 'token', token: other.token }, from('203.0.113.10'));
    assert.equal(elsewhere.status, 400);
    await server.store.audit.flush();
    const { records } = await server.store.audit.find({ limit: 100 });
    assert.ok(!JSON.stringify([records, server.log]).includes(other.token));
  });

  it('says the same of a capsule that is not there', async () => {
    const { resource, client } = await capsuleAsking();
    const none = endpoint('cap_00000000000000000000000000');
    const pages = await Promise.all(
      [resource, none].map(async (each) => {
        const { text, status } = await new WebClient().open(client.authorizeUrl({ resource: each }));
        return [status, text.replaceAll(each, 'ADDRESS').replace(/consent\/[\w-]+|value="[^"]*"/g, '')];
      }),
    );
    assert.deepEqual(pages[0], pages[1]);
  });
});

it('an app that needs more gets 403 with all that is missing, and the person is offered that first when it asks', async () => {
  const client = await OAuthClient.registered(server);
  const tokens = await connected(client);
  const refused = await send(client.resource, tokens.access_token, 'tools/call', {
    name: 'update_settings',
    arguments: { workspaceName: 'x' },
  });
  assert.equal(refused.status, 403);
  assert.equal(
    refused.headers.get('www-authenticate'),
    `Bearer error="insufficient_scope", scope="read write admin", resource_metadata="${server.baseUrl}/.well-known/oauth-protected-resource/api/v1/mcp"`,
  );
  const browser = browserOfAdmin();
  const { text } = await browser.open(client.authorizeUrl({ scope: 'read write' }));
  assert.match(text, /value="write"[^>]* checked/);
  const stranger = await OAuthClient.registered(server);
  const first = await browser.open(stranger.authorizeUrl({ scope: 'read write' }));
  assert.match(first.text, /value="read"[^>]* checked/);
  const never = await send(client.resource, tokens.access_token, 'tools/call', { name: 'create_api_key' });
  assert.equal(never.status, 200);
});
