import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLBACK, OAuthClient, register, signedIn } from '../../support/oauth.ts';
import { serverForTests, startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

/** Each registration comes from another address, as the limit is for each. */
const server = serverForTests({ TRUSTED_PROXIES: 'loopback' });
const DAY = 24 * 60 * 60_000;

const PUBLISHED = {
  Claude: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  ChatGPT: ['https://chatgpt.com/connector_platform_oauth_redirect'],
  'VS Code': ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
  Cursor: ['cursor://anysphere.cursor-mcp/oauth/callback'],
  'Claude Code': ['http://localhost:45454/callback'],
  'mcp-remote': ['http://localhost:3334/oauth/callback'],
  'an installed app': ['com.example.app:/callback', 'com.example.app://localhost/callback'],
  Inspector: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
};

describe('registration', () => {
  it('takes the published addresses of hosts, and people can be sent there', async () => {
    for (const [name, redirect_uris] of Object.entries(PUBLISHED)) {
      const { status, body } = await register(server, { client_name: name, redirect_uris });
      assert.equal(status, 201, name);
      assert.deepEqual(body.redirect_uris, redirect_uris);
      for (const redirect_uri of redirect_uris) {
        const client = new OAuthClient(server, body.client_id);
        const page = await (await signedIn(server)).open(client.authorizeUrl({ redirect_uri }));
        assert.deepEqual([page.status, page.url.pathname.split('/')[2]], [200, 'consent'], redirect_uri);
        assert.match(page.text, /[Uu]nverified|calls itself|answers go to/);
        assert.ok(
          page.text.includes(redirect_uri.startsWith('https') ? new URL(redirect_uri).host : 'th'),
          redirect_uri,
        );
      }
    }
  });

  it('refuses addresses that reach no app of the person, or another than they show', async () => {
    for (const uri of [
      ...['javascript:alert(1)', 'JavaScript:alert(1)', 'data:text/html,x', 'vbscript:x'],
      ...['file:///etc/passwd', 'blob:https://x.example/1', 'about:blank', 'ms-settings:privacy'],
      ...['ms-msdt:/id', 'search-ms:query=x', 'intent://x#Intent;end', 'view-source:https://x.example'],
      ...['mailto:a@x.example', 'steam://run/1', 'x:/callback', 'myapp://callback', 'ms-settings.x:privacy'],
      ...['x-apple.systempreferences:com.apple.preference.security', 'com.:/callback', '.example:/callback'],
      ...['http://evil.example/callback', 'http://127.0.0.1.evil.example/callback'],
      ...['https://localhost/callback', 'https://user:pw@host.example/callback'],
      ...['https://host.example/callback#fragment', 'https://host.example/call back'],
      ...['https:\\\\host.example', '/callback', ''],
    ]) {
      const { status, body } = await register(server, { redirect_uris: [CALLBACK, uri] });
      assert.deepEqual([status, body.error], [400, 'invalid_redirect_uri'], uri);
    }
  });

  it('makes a public client where no method is named, and no secret that would not be asked for', async () => {
    const { body } = await register(server);
    assert.equal(body.token_endpoint_auth_method, 'none');
    assert.equal('client_secret' in body, false);
    assert.deepEqual(body.grant_types, ['authorization_code', 'refresh_token']);
  });

  it('gives a secret to a client that asks for one, and keeps its hash', async () => {
    for (const token_endpoint_auth_method of ['client_secret_post', 'client_secret_basic']) {
      const { body } = await register(server, { token_endpoint_auth_method });
      assert.match(body.client_secret, /^ocs_/);
      assert.equal(body.client_secret_expires_at, 0);
      const { records } = await server.store.oauthClients.find({ where: { clientId: body.client_id }, limit: 1 });
      assert.ok(!JSON.stringify(records).includes(body.client_secret));
    }
  });

  it('ignores members that it does not know, and what would have it fetch something', async () => {
    const { status, body } = await register(server, {
      sector_identifier_uri: 'https://127.0.0.1/x',
      scope: 'everything',
      software_id: 'x',
      application_type: 'web',
      logo_uri: 'javascript:alert(1)',
      client_uri: 'javascript:alert(1)',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    });
    assert.equal(status, 201);
    assert.ok(!JSON.stringify(body).includes('javascript'));
  });

  it('shows the name of a client as text, in one line', async () => {
    const name = '<script>alert(1)</script>\n\u202eClaude\u0000';
    const { body } = await register(server, { client_name: name });
    assert.equal(body.client_name, '<script>alert(1)</script> Claude');
    const page = await (await signedIn(server)).open(new OAuthClient(server, body.client_id).authorizeUrl());
    assert.doesNotMatch(page.text, /<script/);
    assert.match(page.text, /&lt;script&gt;/);
  });

  it('names the problem of what it does not take', async () => {
    for (const [metadata, error] of [
      [{ redirect_uris: undefined }, 'invalid_redirect_uri'],
      [{ redirect_uris: [] }, 'invalid_redirect_uri'],
      [{ redirect_uris: 'x' }, 'invalid_redirect_uri'],
      [{ redirect_uris: Array.from({ length: 60 }, (_, at) => `https://x.example/${at}`) }, 'invalid_redirect_uri'],
      [{ token_endpoint_auth_method: 'tls_client_auth' }, 'invalid_client_metadata'],
      [{ token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
      [
        { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ kty: 'oct', k: 'x' }] } },
        'invalid_client_metadata',
      ],
      [
        { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://user:pw@host.example/keys' },
        'invalid_client_metadata',
      ],
      [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
      [{ response_types: ['token'] }, 'invalid_client_metadata'],
      [{ client_name: 7 }, 'invalid_client_metadata'],
    ] as const) {
      const { status, body } = await register(server, metadata);
      assert.deepEqual([status, body.error], [400, error], JSON.stringify(metadata));
      assert.ok(body.error_description.length > 10);
    }
    const url = `${server.baseUrl}/oauth/register`;
    for (const [body, type, status] of [
      ['{', 'application/json', 400],
      ['[]', 'application/json', 400],
      ['{}', 'text/plain', 415],
      [JSON.stringify({ client_name: 'x'.repeat(70_000) }), 'application/json', 413],
    ] as const) {
      const response = await fetch(url, { method: 'POST', headers: { 'Content-Type': type }, body });
      assert.equal(response.status, status);
    }
    assert.equal((await fetch(url)).status, 405);
  });
});

it('requests that anybody can make are counted by network where the address is IPv6, as one host has a whole /64', async () => {
  const asked = async (path: string, init: RequestInit, count: number) => {
    const from = (at: number) => ({ 'X-Forwarded-For': `2001:db8:0:7::${at.toString(16)}` });
    const all = Array.from({ length: count }, (_, at) =>
      fetch(`${server.baseUrl}${path}`, { ...init, headers: { ...init.headers, ...from(at) } }),
    );
    return new Set((await Promise.all(all)).map(({ status }) => status));
  };
  const headers = { 'Content-Type': 'application/json' };
  assert.ok((await asked('/oauth/register', { method: 'POST', headers, body: '{}' }, 25)).has(429), 'registrations');
  assert.ok((await asked('/oauth/authorize?client_id=ocl_none', {}, 65)).has(429), 'requests to connect');
});

describe('clients that registered themselves', () => {
  it('cannot flood the server', async () => {
    const flooded = await startTestServer();
    const answers = await Promise.all(Array.from({ length: 30 }, () => register(flooded)));
    const refused = answers.filter(({ status }) => status === 429);
    assert.equal(refused.length, 10);
    assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0);
    assert.equal(refused[0]?.body.error, 'temporarily_unavailable');
  });

  it('may come from many networks in the same minute, and one keeps none of them out', async () => {
    const own = await startTestServer({ TRUSTED_PROXIES: 'loopback' });
    const from = (count: number, address: (at: number) => string) =>
      Promise.all(Array.from({ length: count }, (_, at) => register(own, {}, address(at))));
    const stranger = await from(25, () => '198.51.100.1');
    assert.equal(stranger.filter(({ status }) => status === 429).length, 5);
    const others = await from(130, (at) => `2001:db8:${at.toString(16)}::1`);
    assert.deepEqual([...new Set(others.map(({ status }) => status))], [201]);
  });

  it('share the limit of their network, of which an IPv6 address is one of many', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, at) => register(server, {}, `2001:db8::${at + 1}`)),
    );
    assert.equal(answers.filter(({ status }) => status === 429).length, 10);
  });

  it('make room for others where their network has the most', async () => {
    const flooding = 'f'.repeat(64);
    const own = await startTestServer(
      {},
      {
        fill: (store) =>
          store.transaction(async (tx) => {
            await tx.oauthClients.insert(client('first', new Date(Date.now() - DAY).toISOString()));
            for (let at = 0; at < 999; at += 1) {
              const createdAt = new Date(Date.now() - 1000 + at).toISOString();
              await tx.oauthClients.insert({ ...client(`flood${at}`, createdAt), networkHash: flooding });
            }
          }),
      },
    );
    const has = (clientId: string) => own.store.oauthClients.count({ where: { clientId } });
    const { clientId } = await OAuthClient.registered(own);
    assert.deepEqual([await has('first'), await has('flood0'), await has('flood1'), await has(clientId)], [1, 0, 1, 1]);
    const { records } = await own.store.oauthClients.find({ where: { clientId }, limit: 1 });
    assert.match(records[0]?.networkHash ?? '', /^[0-9a-f]{64}$/);
  });

  it('are forgotten after a week where nobody connected them, the oldest first where they are many', async () => {
    const now = Date.now();
    const ago = (ms: number) => new Date(now - ms).toISOString();
    const kept = await startTestServer(
      {},
      {
        fill: (store) =>
          store.transaction(async (tx) => {
            for (let at = 0; at < 1100; at += 1) await tx.oauthClients.insert(client(`new${at}`, ago(DAY - at)));
            await tx.oauthClients.insert(client('stale', ago(8 * DAY)));
            await tx.oauthClients.insert({ ...client('used', ago(8 * DAY)), lastUsedAt: ago(DAY) });
            await tx.oauthClients.insert({ ...client('made', ago(800 * DAY)), kind: 'made' });
          }),
      },
    );
    const has = (clientId: string) => kept.store.oauthClients.count({ where: { clientId } });
    await until(async () => (await has('stale')) === 0);
    const { clientId } = await OAuthClient.registered(kept);
    assert.deepEqual([await has('new0'), await has('new1099'), await has(clientId)], [0, 1, 1]);
    assert.deepEqual([await has('used'), await has('made')], [1, 1]);
  });
});

function client(clientId: string, createdAt: string) {
  const redirectUris = [CALLBACK];
  return { clientId, kind: 'registered' as const, name: clientId, redirectUris, metadata: {}, createdAt };
}
