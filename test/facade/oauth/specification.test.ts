import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { ClientDocuments, LARGEST_DOCUMENT } from '../../../facade/oauth/documents.ts';
import { createFetch } from '../../../tools/core/outbound/fetch.ts';
import { stoppedAtEnd } from '../../support/at-end.ts';
import { callTool, rest } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { send } from '../../support/http.ts';
import { answerOf, CALLBACK, decided, OAuthClient, signedIn } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';
import { connectHttp, type FakeUpstream, startUpstream, toolCalled } from '../../support/upstream.ts';
import { runAuthorizationSuite } from '../conformance/suite.ts';

/** What the authorization section of the MCP specification asks of servers, where no other file has a test for it. */
const server = serverForTests();
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const METADATA = '/.well-known/oauth-protected-resource/api/v1/mcp';

const connect = async (give: string) => {
  const client = await OAuthClient.registered(server);
  return client.connected({ scope: 'read write admin' }, { give });
};

describe('an access token', () => {
  it('is read in the header alone, whatever the case of its scheme', async () => {
    const { access_token: token } = await connect('read');
    const post = async (query: string, headers: Record<string, string> = {}) =>
      (await rest(server, 'POST', `/api/v1/mcp${query}`, { body: LIST, headers })).status;
    assert.equal(await post('', { Authorization: `bearer ${token}` }), 200);
    assert.equal(await post(`?access_token=${token}`), 401);
    assert.equal(await post('', { Authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` }), 401);
    const form = new URLSearchParams({ access_token: token });
    assert.equal((await fetch(`${server.baseUrl}/api/v1/mcp`, { method: 'POST', body: form })).status, 401);
  });

  it('that is not valid is answered 401 with error and metadata, at every method', async () => {
    for (const token of ['oat_nothing', `oat_${'x'.repeat(43)}`, 'eyJhbGciOiJub25lIn0.e30.']) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const body = method === 'POST' ? LIST : undefined;
        const answer = await rest(server, method, '/api/v1/mcp', { key: token, body });
        assert.equal(answer.status, 401);
        assert.equal(
          answer.headers.get('www-authenticate'),
          `Bearer error="invalid_token", resource_metadata="${server.baseUrl}${METADATA}", scope="read"`,
        );
        assert.ok(!JSON.stringify(answer.body).includes(token));
      }
    }
  });

  it('with a broader scope is enough where a narrower one is asked for', async () => {
    const reads = ['list_agents', {}] as const;
    const writes = ['create_skill', { name: 'by an app' }] as const;
    const admin = ['get_settings', {}] as const;
    const may = { read: [reads], write: [reads, writes], admin: [reads, writes, admin] };
    for (const [give, calls] of Object.entries(may)) {
      const { access_token: token } = await connect(give);
      for (const [tool, input] of calls) {
        const answer = await callTool(server, token, tool, { ...input, ...('name' in input && { name: give }) });
        assert.ok('output' in answer, `${give} ${tool} ${JSON.stringify(answer)}`);
      }
    }
  });
});

it('the answer to an authorization request names its issuer and the state also where it is an error', async () => {
  const client = await OAuthClient.registered(server);
  for (const [parameters, error] of [
    [{}, 'access_denied'],
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
  ] as const) {
    const browser = await signedIn(server);
    let left: URL | undefined;
    browser.leave = (url) => {
      left = url;
    };
    await browser.open(client.authorizeUrl(parameters));
    const to = left ?? (await decided(browser, { decision: 'deny' }));
    const { searchParams } = to;
    assert.deepEqual(
      [searchParams.get('error'), searchParams.get('iss'), searchParams.get('state'), searchParams.get('code')],
      [error, server.baseUrl, 'its-state', null],
      JSON.stringify(parameters),
    );
  }
});

describe('a client with a metadata document', () => {
  const redirect = 'https://app.example/back';
  let address = '';
  const host = stoppedAtEnd(
    createServer((_, response) =>
      response.end(
        JSON.stringify({ client_id: address, client_name: 'Published', redirect_uris: [CALLBACK, redirect] }),
      ),
    ),
  );
  const guarded = createFetch({ privateAddresses: true, mostBytes: LARGEST_DOCUMENT });
  before(async () => {
    host.listen(0, '127.0.0.1');
    await once(host, 'listening');
    address = `https://127.0.0.1:${(host.address() as AddressInfo).port}/client.json`; // listening on TCP
    // Read over a wire without encryption; the server takes what is kept.
    const fetch = (url: string | URL) => guarded.fetch(String(url).replace('https:', 'http:'));
    await new ClientDocuments({ store: server.store, fetch, now: () => new Date() }).find(address, undefined);
  });
  after(() => {
    host.close();
    guarded.close();
  });

  it('connects, and people are sent to the addresses in it alone', async () => {
    const client = new OAuthClient(server, address);
    const browser = await signedIn(server);
    for (const wrong of [`${redirect}/more`, 'https://app.example/Back', 'https://evil.example/back']) {
      const page = await browser.open(client.authorizeUrl({ redirect_uri: wrong }));
      assert.equal(page.status, 400, wrong);
    }
    const page = await browser.open(client.authorizeUrl({ redirect_uri: redirect }));
    assert.match(page.text, /app\.example/);
    const { access_token: token } = await client.connected();
    assert.equal((await rest(server, 'POST', '/api/v1/mcp', { key: token, body: LIST })).status, 200);
  });
});

describe('the servers of integrations', () => {
  let upstream: FakeUpstream;
  before(async () => {
    upstream = await startUpstream(toolCalled('find'));
    await connectHttp(server, upstream.url, { name: 'Up' });
  });
  after(() => upstream.close());

  it('never see the token of the app that calls their tools', async () => {
    const { access_token: token } = await connect('write');
    const before = upstream.requests.length;
    const answer = await callTool(server, token, 'up__find', {});
    assert.ok('output' in answer, JSON.stringify(answer));
    assert.ok(upstream.requests.length > before);
    assert.ok(!JSON.stringify(upstream.requests).includes(token));
  });
});

it('connecting by signing in leads from the address alone to a call', async () => {
  const refused = await rest(server, 'POST', '/api/v1/mcp', { body: LIST });
  assert.equal(refused.status, 401);
  const challenge = refused.headers.get('www-authenticate') ?? '';
  assert.match(challenge, /^Bearer resource_metadata="[^"]+", scope="read"$/);
  const { body: metadata } = answerOf(await send(/resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ''));
  assert.equal(metadata.resource, `${server.baseUrl}/api/v1/mcp`);
  assert.deepEqual(metadata.authorization_servers, [server.baseUrl]);

  const client = await OAuthClient.registered(server);
  const tokens = await client.connected();
  assert.equal(tokens.scope, 'read');
  assert.equal(tokens.expires_in, 900);
  const { status, body } = await rest(server, 'POST', '/api/v1/mcp', { key: tokens.access_token, body: LIST });
  assert.equal(status, 200);
  assert.ok(body.result.tools.length > 10);
});

it('the scenarios of the official conformance suite for authorization servers pass: metadata, metadata documents, and the code grant', async () => {
  const port = await freePort();
  const { clientId, resource } = await OAuthClient.registered(server, {
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
  });
  const about = { url: server.baseUrl, clientId, port, resource };
  const checks = await runAuthorizationSuite(about, async (url) => {
    const browser = await signedIn(server);
    await browser.open(url);
    await browser.send({ decision: 'allow', give: 'read' });
  });
  const found = checks.map(({ id, status, errorMessage = '' }) => `${id} ${status} ${errorMessage}`.trim());
  // In the order of their folders, which Node.js does not promise.
  assert.deepEqual(found.sort(), [
    'authorization-code-grant SUCCESS',
    'authorization-server-metadata SUCCESS',
    'authorization-server-metadata-cimd SUCCESS',
  ]);
});
