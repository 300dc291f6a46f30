import assert from 'node:assert/strict';
import { request } from 'node:http';
import { before, describe, it } from 'node:test';
import { callsOf, makeCapsule, makeKey, rest } from '../support/calls.ts';
import { OAuthClient } from '../support/oauth.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';

const server = serverForTests();
const { must } = callsOf(server);
let [key, path, token, other] = ['', '', '', ''];

before(async () => {
  key = await makeKey(server, { scopes: ['admin'] });
  const capsule = await makeCapsule(server, { allowedTools: ['list_skills'] });
  [path, token] = [`/api/capsules/${capsule.id}/mcp`, capsule.token];
  other = `/api/capsules/${(await makeCapsule(server)).id}/mcp`;
});

function send(method: string, at: string, headers: Record<string, string> = {}) {
  const { hostname, port } = new URL(server.baseUrl);
  return new Promise<{ status: number; allow: string | undefined }>((resolve, reject) => {
    const asked = request({ hostname, port, path: at, method, headers }, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, allow: response.headers.allow });
    });
    asked.on('error', reject).end();
  });
}

describe('a credential at a door that is not its own', () => {
  it('is refused with the reason and what would be admitted', async () => {
    const client = await OAuthClient.registered(server);
    const { access_token: app } = await client.connected();
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (const [credential, at, required, reason] of [
      [key, path, { credential: 'capsule-token' }, /takes the token of its capsule/],
      [await signIn(server), path, { credential: 'capsule-token' }, /takes the token of its capsule/],
      [token, '/api/v1/mcp', { endpoint: path }, /opens the endpoint of that capsule/],
      [token, other, { endpoint: path }, /opens the endpoint of that capsule/],
    ] as const) {
      const { status, body } = await rest(server, 'POST', at, { key: credential, body: list });
      assert.deepEqual([status, body.error, body.required], [403, 'Insufficient permissions', required], at);
      assert.match(body.issues[0].message, reason);
    }
    const { status, body } = await rest(server, 'GET', '/api/v1/agents', { key: token });
    assert.deepEqual([status, body.required], [403, { endpoint: path }]);
    const ofApp = await rest(server, 'GET', '/api/v1/agents', { key: app });
    assert.equal(ofApp.status, 401, 'a token of an app is for its address alone');
  });

  it('names nothing that would be admitted where the capsule serves nobody', async () => {
    const draft = await makeCapsule(server, { status: 'draft' });
    const { status, body } = await rest(server, 'GET', `/api/capsules/${draft.id}/mcp`, { key: draft.token });
    assert.deepEqual([status, body.required], [403, undefined]);
    assert.match(body.issues[0].message, /draft/);
  });
});

describe('a method that a path does not take', () => {
  const METHODS = ['TRACE', 'PROPFIND', 'QUERY', 'PATCH', 'DELETE', 'PUT'];

  it('is answered 405 with those that it takes, at every MCP address and to every caller', async () => {
    for (const method of METHODS) {
      for (const [at, credential] of [
        ['/api/v1/mcp', key],
        [path, key],
        [path, token],
        [other, token],
      ] as const) {
        const { status, allow } = await send(method, at, { Authorization: `Bearer ${credential}` });
        assert.deepEqual([status, allow], [405, 'HEAD, GET, POST'], `${method} ${at}`);
      }
      assert.equal((await send(method, path)).status, 401, 'nobody who is unknown is told');
    }
  });

  it('is answered 405, or 404 where there is nothing, at every other door', async () => {
    const paths =
      '/api/v1/agents/agt_one /api/v1/openapi /.well-known/jwks.json /oauth/token /sign-in /nothing /api/nothing'.split(
        ' ',
      );
    for (const at of paths) {
      for (const method of ['TRACE', 'PROPFIND', 'QUERY']) {
        const { status } = await send(method, at, { Authorization: `Bearer ${key}` });
        assert.equal(status, at.endsWith('nothing') ? 404 : 405, `${method} ${at}`);
      }
    }
  });
});

it('the address of this machine under another name is the same server to its pages, and to no others', async () => {
  const { port } = new URL(server.baseUrl);
  const cookie = await signIn(server);
  const calls = async (origin: string, host: string) => {
    const headers = { Authorization: `Bearer ${key}`, Origin: origin, Host: `${host}:${port}` };
    return (await send('GET', '/api/v1/agents', headers)).status;
  };
  const names = ['localhost', '127.0.0.1', '[::1]'];
  for (const page of names) {
    for (const host of names) assert.equal(await calls(`http://${page}:${port}`, host), 200, `${page} at ${host}`);
    assert.equal(await calls(`http://${page}:1`, '127.0.0.1'), 403, 'another server of this machine');
    assert.equal(await calls(`https://${page}:${port}`, '127.0.0.1'), 403);
  }
  assert.equal(await calls(`http://localhost.example.com:${port}`, '127.0.0.1'), 403);
  const crossing = { Cookie: cookie, Origin: `http://localhost:${port}`, 'Sec-Fetch-Site': 'cross-site' };
  assert.equal(
    (await send('POST', '/api/v1/agents', crossing)).status,
    403,
    'the cookie of one name is not for pages of another',
  );
});

it('the refusal of a call without a fresh sign-in says how a script renews its session, and that works as it says', async () => {
  const email = 'script@example.com';
  await must('create_admin_user', { email });
  const stale = await signIn(server, email);
  server.clock.pass(11 * 60_000);
  const over = async (session: string) => {
    const params = { name: 'create_api_key', arguments: { name: 'made', scopes: ['read'] } };
    return (
      await rest(server, 'POST', '/api/v1/mcp', {
        key: session,
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      })
    ).body.result;
  };
  const { error } = JSON.parse((await over(stale)).content[0].text);
  const [, tool = '', input = ''] = /calls (\w+) (\{.+?\}) with an API key/.exec(error) ?? [];
  const [, method = '', at = '', body = ''] = /sends (POST) (\S+) (\{.+?\}),/.exec(error) ?? [];
  const link = await must(tool, JSON.parse(input.replace('<yours>', email)));
  const began = await rest(server, method, at, { body: body.replace('<idToken of that answer>', link.idToken) });
  assert.equal(began.status, 201, JSON.stringify(began.body));
  const [cookie = ''] = began.headers.getSetCookie();
  assert.equal((await over(cookie.split(';')[0] ?? '')).isError, undefined);
});

it('the OpenAPI document describes every challenge that a door gives', async () => {
  const { body } = await rest(server, 'GET', '/api/v1/openapi', { key });
  const pattern = new RegExp(`${body.components.headers['WWW-Authenticate'].schema.pattern}$`);
  for (const at of ['/api/v1/agents', '/api/v1/mcp', path, '/api/v1/mcp?auth=key']) {
    for (const headers of [{}, { Authorization: 'Bearer wrong' }]) {
      const answer = await rest(server, 'GET', at, { headers });
      assert.match(answer.headers.get('www-authenticate') ?? '', pattern, at);
    }
  }
  assert.doesNotMatch('Basic', pattern);
});
