import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { ToolError } from '../../../tools/core/errors.ts';
import { createSecretBox } from '../../../tools/core/sealing/secrets.ts';
import { IntegrationAccounts } from '../../../tools/integrations/accounts/accounts.ts';
import { endOf } from '../../../tools/integrations/accounts/authorize-account.ts';
import { askMcp, callsOf, callTool, makeKey, rest } from '../../support/calls.ts';
import { capsuleClients } from '../../support/capsules.ts';
import { startOAuthUpstream } from '../../support/oauth-upstream.ts';
import { pluck } from '../../support/pluck.ts';
import { principalOf } from '../../support/registry.ts';
import { startTestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';
import { placesWith } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import { callRaw, errorOfCall } from '../../support/upstream.ts';
import { WebClient, type WebPage } from '../../support/web-client.ts';

const [server, upstream] = await Promise.all([startTestServer(), startOAuthUpstream()]);
const { must } = callsOf(server);
afterEach(async () => {
  [upstream.needs, upstream.callback] = [undefined, undefined];
  for (const { id } of (await must('list_integrations')).data) await must('delete_integration', { id });
});

const people = new Map<string, Person>();

it('the end of a token is a time, whatever lifetime its provider names', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  assert.deepEqual(
    [undefined, 60, 1e300, 0, -60, -1e300].map((seconds) => endOf(seconds, now)),
    [
      undefined,
      '2026-01-01T00:01:00.000Z',
      '2027-01-01T00:00:00.000Z',
      ...Array.from({ length: 3 }, () => now.toISOString()),
    ],
  );
});

/** A person with a browser in which they are signed in. */
async function person(email: string): Promise<Person> {
  const known = people.get(email) ?? (await signedIn(email));
  people.set(email, known);
  return known;
}

async function signedIn(email: string) {
  const { records } = await server.store.adminUsers.find({ where: { email }, limit: 1 });
  const id: string = records[0]?.id ?? (await must('create_admin_user', { email, role: 'admin' })).id;
  const cookie = await signIn(server, email);
  const browser = new WebClient();
  const [name = '', value = ''] = cookie.split('=');
  browser.cookies.set(new URL(server.baseUrl).origin, new Map([[name, value]]));
  return { id, email, browser, cookie };
}
type Person = Awaited<ReturnType<typeof signedIn>>;

/** Opens the link, and presses its button; the browser stands before the provider then. */
async function open({ browser }: Pick<Person, 'browser'>, url: string): Promise<string> {
  await browser.open(url);
  if (browser.page.status === 200) await browser.send();
  return (/http-equiv="refresh" content="0;url=([^"]*)"/.exec(browser.page.text)?.[1] ?? '').replaceAll('&amp;', '&');
}

/** Opens the link and agrees at the provider with this account. */
async function follow(one: Person, url: string, account: string | undefined): Promise<WebPage> {
  upstream.person = account;
  one.browser.cookies.delete(upstream.issuer); // so that nobody is signed in at the provider
  const next = await open(one, url);
  return next === '' ? one.browser.page : one.browser.open(next);
}

/** Everybody has just confirmed that it is them. Signing in anew each time would be too often. */
async function confirmed(): Promise<void> {
  const { records } = await server.store.sessions.find({ limit: 100 });
  const confirmedAt = server.clock.in(0);
  await server.store.transaction(async (tx) => {
    for (const { id } of records) await tx.sessions.touch(id, { confirmedAt });
  });
}

async function linkOf(one: Pick<Person, 'cookie'>, id: string): Promise<string> {
  await confirmed();
  return (await must('connect_integration', { id }, one.cookie)).url;
}

async function connect(one: Person, id: string, account: string): Promise<void> {
  const page = await follow(one, await linkOf(one, id), account);
  assert.match(page.heading, /is connected/, page.text);
}

const create = (auth: string, more: object = {}) =>
  must('create_integration', { name: 'Private', transport: 'http', url: upstream.url, auth, accept: true, ...more });

/** An integration with an account for each, whose tools, prompts and resources Ada accepted with hers. */
async function perPerson(more: object = {}): Promise<{ id: string; ada: Person; bob: Person }> {
  const { id } = await create('oauth-per-person', more);
  const [ada, bob] = [await person('ada@example.com'), await person('bob@example.com')];
  await connect(ada, id, 'ada-there');
  await must('refresh_integration', { id, accept: true }, ada.cookie);
  return { id, ada, bob };
}

const whoami = async (key: string) => {
  const { content } = await callRaw(server, 'private__whoami', {}, key);
  return content?.[0].text;
};

async function linkIn(key: string): Promise<string> {
  const { code, error } = await errorOfCall(server, 'private__whoami', {}, key);
  assert.equal(code, 'conflict', error);
  return /http\S+link=[\w-]+/.exec(error)?.[0] ?? assert.fail(error);
}

async function ask(key: string, method: string, params: object = {}) {
  const { result, error } = await askMcp(server, key, method, params);
  return result ?? error;
}

const refreshes = () => upstream.grants.filter((grant) => grant === 'refresh_token').length;

describe('an integration with one account for all', () => {
  it('wants it to be connected by an administrator, once, and serves all callers then', async () => {
    const { id, status, auth } = await create('oauth-shared');
    assert.deepEqual([status.state, auth], ['wants_oauth', 'oauth-shared']);
    assert.match(status.lastError, /connect_integration/);
    const ada = await person('ada@example.com');
    const limited = await makeKey(server, { grants: ['tool:call'] });
    const refused = await callTool(server, limited, 'connect_integration', { id });
    assert.deepEqual('error' in refused && refused.error.required, {
      scope: 'admin',
      grant: `integration:write:${id}`,
    });
    await connect(ada, id, 'company');
    await must('refresh_integration', { id, accept: true });
    assert.equal(await whoami(server.adminKey), 'you are company');
    assert.equal(await whoami(limited), 'you are company');
    const { data } = await must('list_integration_accounts');
    assert.equal(data.length, 1);
    assert.equal(data[0].status, 'connected');
    assert.ok(!('userId' in data[0]));
    const ended = await must('disconnect_integration', { id });
    assert.deepEqual([ended.ended, ended.revoked], [true, true]);
    const { error } = await errorOfCall(server, 'private__whoami', {}, limited);
    assert.match(error, /not connected; an administrator/);
  });
});

describe('an integration with an account for each person', () => {
  it('shows each their own data, resources and prompts, and a link to who has no account', async () => {
    const { id, ada, bob } = await perPerson();
    assert.equal(await whoami(ada.cookie), 'you are ada-there');
    assert.match((await follow(bob, await linkIn(bob.cookie), 'bob-there')).heading, /is connected/);
    assert.equal(await whoami(bob.cookie), 'you are bob-there');
    assert.equal(await whoami(ada.cookie), 'you are ada-there');
    for (const [one, name] of [
      [ada, 'ada-there'],
      [bob, 'bob-there'],
    ] as const) {
      const { resources } = await ask(one.cookie, 'resources/list');
      const own = resources.filter(({ uri }: { uri: string }) => uri.startsWith('integration://'));
      const uri = `integration://private/${encodeURIComponent(`notes://${name}`)}`;
      assert.deepEqual(own, [{ uri, name: `Notes of ${name}` }]);
      const { contents } = await ask(one.cookie, 'resources/read', { uri });
      assert.deepEqual(contents, [{ uri, mimeType: 'text/plain', text: `notes://${name} read by ${name}` }]);
      const { prompts } = await ask(one.cookie, 'prompts/list');
      assert.ok(prompts.some((prompt: { name: string }) => prompt.name === 'private__greet'));
      const { messages } = await ask(one.cookie, 'prompts/get', { name: 'private__greet' });
      assert.equal(messages[0].content.text, `Greet ${name}.`);
    }
    const accounts = async () => (await must('list_integration_accounts', { integrationId: id })).data;
    const all = await accounts();
    assert.deepEqual(pluck(all, 'userId').sort(), [ada.id, bob.id].sort());
    const usedAfter = (time: string) =>
      until(async () => pluck(await accounts(), 'lastUsedAt').every((at) => at > time));
    await usedAfter('2026');
    const aMinuteLater = server.clock.in(61_000);
    server.clock.pass(62_000);
    for (const one of [ada, bob]) await whoami(one.cookie);
    await usedAfter(aMinuteLater);
    const reader = await makeKey(server, { scopes: ['read'] });
    assert.deepEqual((await must('list_integration_accounts', {}, reader)).data, []);
  });

  it('gives a link that opens for its person, once, within 10 minutes', async () => {
    const { id, ada, bob } = await perPerson();
    const link = await linkOf(bob, id);
    assert.equal((await ada.browser.open(link)).status, 403);
    const nobody = new WebClient();
    const first = await nobody.open(link);
    assert.equal(first.status, 401);
    assert.match(
      decodeURIComponent(first.headers.get('Set-Cookie') ?? ''),
      /admin-return=\/integrations\/connect\?link=/,
    );
    for (let looks = 0; looks < 2; looks += 1) assert.equal((await bob.browser.open(link)).status, 200);
    assert.notEqual(await open(bob, link), '');
    assert.equal((await bob.browser.open(link)).status, 404);
    const late = await linkOf(bob, id);
    server.clock.pass(10 * 60_000 + 1000);
    const again = await person(bob.email);
    assert.equal((await again.browser.open(late)).status, 404);
    const links = await Promise.all(Array.from({ length: 7 }, () => linkOf(again, id)));
    const works = [];
    for (const url of links) works.push((await again.browser.open(url)).status === 200);
    assert.equal(works.filter(Boolean).length, 5, 'the oldest ones ended');
  });

  it('takes an answer of the provider from the person who asked, once, and from the provider that was asked', async () => {
    const { id, ada, bob } = await perPerson();
    let back: URL | undefined;
    // The answer is kept, and the browser sent elsewhere.
    const intercept = async (one: Person, change: (url: URL) => void = () => {}) => {
      upstream.callback = (url) => {
        if (!url.searchParams.has('code')) return;
        back = new URL(url);
        change(back);
        url.href = `${upstream.issuer}/elsewhere`;
      };
      await follow(one, await linkOf(one, id), 'bob-there');
      upstream.callback = undefined;
      return back?.href ?? assert.fail('no answer');
    };
    const stolen = await intercept(bob);
    assert.equal((await ada.browser.open(stolen)).status, 403);
    assert.equal((await bob.browser.open(stolen)).status, 200);
    assert.equal((await bob.browser.open(stolen)).status, 404);
    const before = upstream.grants.length;
    for (const change of [
      (url: URL) => url.searchParams.set('iss', 'https://evil.example'),
      (url: URL) => url.searchParams.delete('iss'),
    ]) {
      const page = await bob.browser.open(await intercept(bob, change));
      assert.deepEqual([page.status, page.heading], [409, 'Not connected']);
      assert.match(page.text, /another provider/);
    }
    assert.equal(upstream.grants.length, before, 'no code was sent anywhere');
    const made = new URL(stolen);
    made.searchParams.set('state', 'made-up');
    assert.equal((await bob.browser.open(made.href)).status, 404);
  });

  it('says so where the person says no, and quotes the provider as text', async () => {
    const { id, bob } = await perPerson();
    const page = await follow(bob, await linkOf(bob, id), undefined);
    assert.equal(page.heading, 'Not connected');
    assert.match(page.text, /access_denied/);
    assert.ok(!page.text.includes('<b>no</b>'));
  });

  it('renews a token once, however many calls want it', async () => {
    const { ada } = await perPerson();
    await whoami(ada.cookie);
    const before = refreshes();
    upstream.refuseTokens();
    const answers = await Promise.all(Array.from({ length: 5 }, () => whoami(ada.cookie)));
    assert.deepEqual(new Set(answers), new Set(['you are ada-there']));
    assert.equal(refreshes() - before, 1);
    server.clock.pass(595_000);
    await Promise.all(Array.from({ length: 3 }, () => whoami(ada.cookie)));
    assert.equal(refreshes() - before, 2, 'and before it ends');
  });

  it('wants the account again where its token cannot be renewed', async () => {
    const { id, ada } = await perPerson();
    upstream.refuseTokens();
    await upstream.endRefreshTokens();
    const link = await linkIn(ada.cookie);
    const { data } = await must('list_integration_accounts', { integrationId: id }, ada.cookie);
    assert.equal(data[0].status, 'connect_again');
    const before = upstream.registrations;
    assert.match((await follow(ada, link, 'ada-there')).heading, /is connected/);
    assert.equal(await whoami(ada.cookie), 'you are ada-there');
    assert.equal(upstream.registrations, before, 'it is the client it was');
  });

  it('asks for more scopes where the server wants them', async () => {
    const { id, ada } = await perPerson();
    upstream.needs = 'more';
    const page = await follow(ada, await linkIn(ada.cookie), 'ada-there');
    assert.match(page.heading, /is connected/);
    assert.equal(await whoami(ada.cookie), 'you are ada-there');
    const { data } = await must('list_integration_accounts', { integrationId: id }, ada.cookie);
    assert.deepEqual(data[0].scopes.sort(), ['data', 'more']);
  });

  it('ends an account at once, here and at the provider', async () => {
    const { id, ada, bob } = await perPerson();
    await connect(bob, id, 'bob-there');
    let release = () => {};
    const held = new Promise<undefined>((resolve) => {
      release = () => resolve(undefined);
    });
    upstream.requests.length = 0;
    upstream.answer = ({ method }) => (method === 'tools/call' ? held : undefined);
    const running = errorOfCall(server, 'private__whoami', {}, bob.cookie);
    await until(() =>
      upstream.requests.some(({ method, person: who }) => method === 'tools/call' && who === 'bob-there'),
    );
    const ended = await must('disconnect_integration', { id }, bob.cookie);
    assert.deepEqual([ended.account.userId, ended.ended, ended.revoked], [bob.id, true, true]);
    assert.match((await running).error, /lost the account/);
    release();
    upstream.answer = () => undefined;
    assert.ok(upstream.revoked.includes('refresh bob-there'));
    await linkIn(bob.cookie);
    const refused = await callTool(server, await makeKey(server, { grants: ['tool:call'] }), 'disconnect_integration', {
      id,
      userId: ada.id,
    });
    assert.equal('error' in refused && refused.error.code, 'forbidden');
    await connect(bob, id, 'bob-there');
    await must('deactivate_admin_user', { id: bob.id });
    await until(async () => (await must('list_integration_accounts', { userId: bob.id })).data.length === 0);
    await must('reactivate_admin_user', { id: bob.id });
    const again = await signedIn(bob.email);
    people.set(bob.email, again);
    await linkIn(again.cookie);
    assert.equal(await whoami(ada.cookie), 'you are ada-there');
  });

  it('keeps its secrets', async () => {
    const { id, ada } = await perPerson();
    const link = await linkIn(ada.cookie).catch(() => linkOf(ada, id));
    await open(ada, link);
    upstream.answer = ({ method }) =>
      method === 'tools/call'
        ? { content: [{ type: 'text', text: `I was sent ${upstream.tokens.slice(-2)}` }] }
        : undefined;
    const repeated = await whoami(ada.cookie);
    upstream.answer = () => undefined;
    assert.match(repeated, /\[redacted\],\[redacted\]/, 'the access and the refresh token');
    await server.store.audit.flush();
    const secrets = [...upstream.tokens, link.split('link=')[1] ?? ''];
    assert.ok(secrets.length >= 3);
    const answers = [
      await must('get_integration', { id }),
      await must('list_integration_accounts'),
      await must('list_audit_entries', { limit: 100 }),
    ];
    for (const secret of secrets) assert.ok(!JSON.stringify(answers).includes(secret));
    for (const secret of secrets) assert.deepEqual(await placesWith(server.folder, secret), []);
    for (const line of server.log) for (const secret of secrets) assert.ok(!JSON.stringify(line).includes(secret));
  });

  it('gives links to nobody but people: agents and flows use the account of whom they act for, capsules nobody’s', async () => {
    const { ada, bob } = await perPerson();
    const { id: agentId } = await must('create_agent', {
      name: 'helper',
      displayName: 'Helper',
      tools: ['private__whoami'],
    });
    const invoke = async (one: Person) =>
      JSON.stringify(await must('invoke_agent', { agent: agentId, input: '/private__whoami {}' }, one.cookie));
    assert.match(await invoke(ada), /you are ada-there/);
    const without = await invoke(bob);
    assert.match(without, /connect_integration/);
    assert.ok(!without.includes('link='));
    const flow = await must(
      'create_flow',
      {
        name: 'asks',
        steps: [{ id: 'a', tool: 'private__whoami', arguments: {} }],
      },
      ada.cookie,
    );
    const run = await must('trigger_flow', { id: flow.id, wait: true }, bob.cookie);
    assert.equal(run.status, 'succeeded', JSON.stringify(run));
    assert.match(JSON.stringify(await must('get_flow_run', { id: run.id }, ada.cookie)), /ada-there/);
    await must('delete_flow', { id: flow.id });
    await must('delete_agent', { id: agentId });
  });

  it('lets a capsule use the account of its owner where the owner says so, and nobody else', async () => {
    people.clear(); // capsules are made after a fresh sign-in
    const { ada, bob } = await perPerson();
    const { ask: through } = capsuleClients(() => server);
    const capsule = await must(
      'create_capsule',
      {
        name: 'mine',
        allowedTools: ['private__*'],
        status: 'live',
      },
      ada.cookie,
    );
    const call = async () =>
      JSON.stringify((await through(capsule, 'tools/call', { name: 'private__whoami', arguments: {} })).body);
    const refused = await call();
    assert.match(refused, /uses nobody's/);
    assert.ok(!refused.includes('link='));
    const change = (one: Person, input: object) =>
      callTool(server, one.cookie, 'update_capsule', { id: capsule.id, ...input });
    const byBob = await change(bob, { integrationAccounts: 'owner' });
    assert.equal('error' in byBob && byBob.error.code, 'forbidden');
    assert.ok('output' in (await change(ada, { integrationAccounts: 'owner' })));
    assert.match(await call(), /you are ada-there/);
    assert.ok('error' in (await change(bob, { allowedTools: ['private__*', 'list_agents'] })));
    assert.ok('error' in (await callTool(server, bob.cookie, 'rotate_capsule_token', { id: capsule.id })));
    assert.ok('output' in (await change(bob, { integrationAccounts: 'none' })));
    assert.match(await call(), /uses nobody's/);
    await must('delete_capsule', { id: capsule.id });
  });
});

describe('the provider of an integration', () => {
  it('knows this server by an id and secret that an administrator gives, and gets them alone', async () => {
    const client = {
      client_id: 'given',
      client_secret: 'given-secret-0123456789',
      token_endpoint_auth_method: 'client_secret_basic',
    };
    const redirect = {
      redirect_uris: [`${server.baseUrl}/integrations/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
    };
    const closed = await startOAuthUpstream({ registration: false, clients: [{ ...client, ...redirect }] });
    const oauth = { clientId: client.client_id, clientSecret: client.client_secret };
    const made = await create('oauth-shared', { url: closed.url, oauth });
    assert.deepEqual(made.oauth, { clientId: 'given', clientSecret: '•••' });
    const ada = await person('ada@example.com');
    closed.person = 'company';
    const next = await open(ada, await linkOf(ada, made.id));
    assert.match((await ada.browser.open(next)).heading, /is connected/);
    const { oauth: kept } = await must('get_integration', { id: made.id });
    assert.deepEqual(kept, { clientId: 'given', clientSecret: '•••', issuer: closed.issuer });
    await must('update_integration', { id: made.id, oauth: { clientId: 'given', clientSecret: '•••' } });
    const moved = { clientId: 'given', clientSecret: '•••', issuer: upstream.issuer };
    assert.ok(
      'error' in (await callTool(server, server.adminKey, 'update_integration', { id: made.id, oauth: moved })),
    );
    await must('update_integration', { id: made.id, oauth: null });
    await open(ada, await linkOf(ada, made.id));
    assert.match(ada.browser.page.text, /registers no clients by itself/);
  });

  it('is asked at addresses that integrations may use, and answers a page', async () => {
    const guarded = await startTestServer({ PRIVATE_UPSTREAMS: 'off' });
    const made = await callTool(guarded, guarded.adminKey, 'create_integration', {
      name: 'Private',
      transport: 'http',
      url: upstream.url,
      auth: 'oauth-per-person',
    });
    assert.ok('error' in made);
  });

  it('finds what this server is as a client in a document, where it can be reached', async () => {
    const { body } = await rest(server, 'GET', '/oauth/client.json');
    assert.deepEqual(body.redirect_uris, [`${server.baseUrl}/integrations/callback`]);
    assert.equal(body.client_id, `${server.baseUrl}/oauth/client.json`);
    const known = await fetch(`${upstream.issuer}/.well-known/openid-configuration`);
    upstream.metadata = { ...((await known.json()) as object), client_id_metadata_document_supported: true };
    const { id } = await create('oauth-per-person');
    const { id: userId } = await person('ada@example.com');
    const options = {
      store: server.store,
      secrets: createSecretBox([Buffer.alloc(32).toString('hex')], ''),
      baseUrl: 'https://admin.example',
      privateAddresses: true,
      name: 'agent-admin',
      now: server.clock.now,
      onFailure: assert.fail,
    };
    const hosted = new IntegrationAccounts(options);
    const before = upstream.registrations;
    const integration = (await server.store.integrations.get(id)) ?? assert.fail();
    const { url } = await hosted.newLink(integration, { userId });
    const one = principalOf({ type: 'session', id: userId, scopes: ['*'] });
    const asked = await hosted.open(url.split('link=')[1] ?? '', one);
    assert.equal(asked.searchParams.get('client_id'), 'https://admin.example/oauth/client.json');
    assert.equal(asked.searchParams.get('code_challenge_method'), 'S256');
    assert.equal(asked.searchParams.get('resource'), upstream.url);
    assert.equal(upstream.registrations, before);
    hosted.close();
    upstream.metadata = {};
    const guarded = new IntegrationAccounts({ ...options, privateAddresses: false });
    const other = await guarded.newLink(integration, { userId });
    const refused = guarded.open(other.url.split('link=')[1] ?? '', one);
    await assert.rejects(refused, (error: Error) => error instanceof ToolError && /address/.test(error.message));
    guarded.close();
  });
});

describe('an integration', () => {
  it('takes only members that fit its auth', async () => {
    const paths = async (more: object) => {
      const answer = await callTool(server, server.adminKey, 'create_integration', {
        name: 'x',
        transport: 'http',
        url: upstream.url,
        enabled: false,
        ...more,
      });
      return 'error' in answer && answer.error.issues?.map(({ path }) => path);
    };
    assert.deepEqual(await paths({ auth: 'none', headers: { A: 'b' } }), ['headers']);
    assert.deepEqual(await paths({ auth: 'oauth-shared', headers: { authorization: 'b' } }), ['headers.authorization']);
    assert.deepEqual(await paths({ oauth: { clientId: 'x' } }), ['oauth']);
    assert.deepEqual(await paths({ auth: 'oauth-shared', oauth: { clientSecret: 'x' } }), ['oauth.clientId']);
    assert.deepEqual(await paths({ transport: 'stdio', command: 'x', url: undefined, auth: 'none' }), ['auth']);
  });

  it('ends its accounts when it moves or is deleted', async () => {
    const accountsOf = async (id: string) =>
      (await server.store.integrationAccounts.find({ where: { integrationId: id }, limit: 10 })).records.length;
    for (const end of [
      (id: string) =>
        must('update_integration', { id, name: 'Moved', url: `${upstream.url}?moved`, toolPrefix: 'moved' }),
      (id: string) => must('delete_integration', { id }),
    ]) {
      const { id, ada, bob } = await perPerson();
      await connect(bob, id, 'bob-there');
      const pending = await linkOf(bob, id);
      assert.equal(await accountsOf(id), 2);
      upstream.revoked.length = 0;
      await end(id);
      assert.equal(await accountsOf(id), 0);
      for (const one of ['ada-there', 'bob-there']) await until(() => upstream.revoked.includes(`refresh ${one}`));
      const { data } = await must('list_integration_accounts', { integrationId: id }, ada.cookie);
      assert.deepEqual(data, []);
      assert.equal((await bob.browser.open(pending)).status, 404, 'no link connects an account any more');
    }
  });
});
