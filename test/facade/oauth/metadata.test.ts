import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { describeReach } from '../../../facade/oauth/address-page.ts';
import { mustCall, rest } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { send } from '../../support/http.ts';
import { answerOf, register } from '../../support/oauth.ts';
import { serverForTests, startTestServer, type TestServer } from '../../support/server.ts';

const server = serverForTests();
const CAPSULE = 'cap_01hzzzzzzzzzzzzzzzzzzzzzzz';
const PROTECTED = '/.well-known/oauth-protected-resource';

async function get(path: string, headers: Record<string, string> = {}, at: { baseUrl: string } = server) {
  return answerOf(await send(`${at.baseUrl}${path}`, { headers }));
}

describe('protected resource metadata', () => {
  it('names for each MCP address that address itself and this server', async () => {
    for (const [place, path, scope] of [
      [PROTECTED, '/api/v1/mcp', 'read'],
      [`${PROTECTED}/api/v1/mcp`, '/api/v1/mcp', 'read'],
      [`${PROTECTED}/api/capsules/${CAPSULE}/mcp`, `/api/capsules/${CAPSULE}/mcp`, 'capsule'],
    ] as const) {
      const { status, headers, body } = await get(place);
      assert.equal(status, 200);
      assert.equal(headers.get('access-control-allow-origin'), '*');
      assert.equal(body.resource, `${server.baseUrl}${path}`);
      assert.deepEqual(body.authorization_servers, [server.baseUrl]);
      assert.deepEqual(body.scopes_supported, [scope]);
    }
  });

  it('is the same whether or not there is such a capsule, and absent for what is no id', async () => {
    const { id: made } = await mustCall(server, server.adminKey, 'create_capsule', {
      name: 'Real',
      allowedTools: ['list_agents'],
    });
    const [real, other] = await Promise.all(
      [made, CAPSULE].map(async (id: string) => {
        const { status, body } = await get(`${PROTECTED}/api/capsules/${id}/mcp`);
        return [status, JSON.stringify(body).replaceAll(id, 'id')];
      }),
    );
    assert.deepEqual(real, other);
    for (const path of '/api/capsules/x/mcp /api/capsules/cap_UPPER/mcp /api/v1/mcp/ /api/v1/agents /mcp'.split(' ')) {
      assert.equal((await get(PROTECTED + path)).status, 404, path);
    }
  });

  it('names the address that was typed where that is another name of this machine, and no other', async () => {
    const { port } = new URL(server.baseUrl);
    const typed = { baseUrl: `http://localhost:${port}` };
    const { body } = await get(PROTECTED, {}, typed);
    assert.equal(body.resource, `${typed.baseUrl}/api/v1/mcp`);
    assert.deepEqual(body.authorization_servers, [server.baseUrl]);
    const forged = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https', Forwarded: 'host=evil.example' };
    assert.equal((await get(PROTECTED, forged)).body.resource, `${server.baseUrl}/api/v1/mcp`);
  });

  it('is named by the 401 of each MCP address, and of no other', async () => {
    const challenge = async (path: string, key?: string) =>
      (await rest(server, 'POST', path, { key, body: {} })).headers.get('www-authenticate');
    const unified = `resource_metadata="${server.baseUrl}${PROTECTED}/api/v1/mcp", scope="read"`;
    assert.equal(await challenge('/api/v1/mcp'), `Bearer ${unified}`);
    assert.equal(await challenge('/api/v1/mcp?groups=agents', 'x'), `Bearer error="invalid_token", ${unified}`);
    const capsule = `resource_metadata="${server.baseUrl}${PROTECTED}/api/capsules/${CAPSULE}/mcp", scope="capsule"`;
    assert.equal(await challenge(`/api/capsules/${CAPSULE}/mcp`), `Bearer ${capsule}`);
    assert.equal(await challenge('/api/capsules/x/mcp'), 'Bearer');
    assert.equal(await challenge('/api/v1/agents'), 'Bearer');
    assert.equal(await challenge('/api/v1/mcp?auth=key'), 'Bearer');
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const withKey = await rest(server, 'POST', '/api/v1/mcp?auth=key', { key: server.adminKey, body: list });
    assert.equal(withKey.status, 200);
  });
});

describe('authorization server metadata', () => {
  it('is found under both names and says what the server does, without OpenID members', async () => {
    const { body } = await get('/.well-known/oauth-authorization-server');
    assert.equal(body.issuer, server.baseUrl);
    assert.equal(body.authorization_endpoint, `${server.baseUrl}/oauth/authorize`);
    assert.deepEqual(body.code_challenge_methods_supported, ['S256']);
    assert.deepEqual(body.scopes_supported, ['read']);
    assert.equal(body.client_id_metadata_document_supported, true);
    assert.equal(body.authorization_response_iss_parameter_supported, true);
    const foreign = Object.keys(body).filter((name) =>
      /claims|id_token|userinfo|subject|end_session|request_uri|dpop|pushed/.test(name),
    );
    assert.deepEqual(foreign, []);
    assert.deepEqual((await get('/.well-known/openid-configuration')).body, body);
  });

  it('and the endpoints for programs can be used by pages of any origin', async () => {
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/oauth/token',
      '/oauth/register',
      '/oauth/revoke',
    ]) {
      const response = await fetch(`${server.baseUrl}${path}`, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://inspector.example',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'content-type,mcp-protocol-version',
        },
      });
      assert.equal(response.status, 204, path);
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      assert.match(response.headers.get('access-control-allow-headers') ?? '', /mcp-protocol-version/);
    }
    const token = await fetch(`${server.baseUrl}/oauth/token`, {
      method: 'POST',
      headers: { Origin: 'https://x.example' },
    });
    assert.deepEqual([token.status, token.headers.get('access-control-allow-origin')], [400, '*']);
  });

  it('is refused at a host that is not ours', async () => {
    const status = await new Promise((resolve, reject) => {
      const asked = request(`${server.baseUrl}/.well-known/oauth-authorization-server`, {
        headers: { Host: 'evil.example' },
      });
      asked.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
      asked.end();
    });
    assert.equal(status, 403);
    assert.ok(!server.log.some(({ msg }) => msg === 'request failed'), 'what was foreseen is no failure of ours');
  });
});

describe('a server below a path', () => {
  let below: TestServer;
  let at: { baseUrl: string };
  const issuer = 'https://mcp.example/admin';
  before(async () => {
    const port = await freePort();
    below = await startTestServer({ BASE_URL: issuer, PORT: String(port) });
    at = { baseUrl: `http://127.0.0.1:${port}` };
  });
  after(() => below.close());

  it('is found by the addresses that clients make of it', async () => {
    for (const path of ['/.well-known/oauth-authorization-server/admin', '/.well-known/openid-configuration']) {
      const { body } = await get(path, {}, at);
      assert.deepEqual([body.issuer, body.token_endpoint], [issuer, `${issuer}/oauth/token`]);
    }
    for (const path of [`${PROTECTED}/admin/api/v1/mcp`, `${PROTECTED}/api/v1/mcp`, `${PROTECTED}/admin`]) {
      assert.equal((await get(path, {}, at)).body.resource, `${issuer}/api/v1/mcp`, path);
    }
    const { headers } = await rest(at, 'POST', '/api/v1/mcp', { body: {} });
    assert.match(
      headers.get('www-authenticate') ?? '',
      /"https:\/\/mcp\.example\/admin\/\.well-known\/oauth-protected/,
    );
  });

  it('keeps its cookies and redirects below the path', async () => {
    const { body } = await register(at);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: body.client_id,
      redirect_uri: body.redirect_uris[0],
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const response = await fetch(`${at.baseUrl}/oauth/authorize?${query}`, { redirect: 'manual' });
    assert.match(response.headers.get('location') ?? '', /^https:\/\/mcp\.example\/admin\/oauth\/consent\/[\w-]+$/);
    const cookies = response.headers.getSetCookie();
    assert.ok(
      cookies.some((cookie) => /^oauth-interaction=.*path=\/admin\/oauth\/consent\/.*secure/i.test(cookie)),
      String(cookies),
    );
  });
});

describe('OAUTH=off', () => {
  const off = serverForTests({ OAUTH: 'off' });

  it('leaves keys, and no trace of sign-in by clients', async () => {
    for (const path of [
      PROTECTED,
      `${PROTECTED}/api/v1/mcp`,
      '/.well-known/oauth-authorization-server',
      '/oauth/authorize',
    ]) {
      assert.equal((await get(path, {}, off)).status, 404, path);
    }
    assert.equal((await register(off)).status, 404);
    const { status, headers } = await rest(off, 'POST', '/api/v1/mcp', { body: {} });
    assert.deepEqual([status, headers.get('www-authenticate')], [401, 'Bearer']);
  });
});

it('at the start the server says whether hosted clients can reach it', () => {
  assert.match(describeReach('https://mcp.example.com', true), /hosted ones \(Claude, ChatGPT\) too/);
  for (const url of ['http://localhost:3000', 'http://mcp.example.com', 'https://10.0.0.1', 'https://box.local']) {
    assert.match(describeReach(url, true), /cannot: .*; set BASE_URL to a public https address/, url);
  }
  assert.match(describeReach('https://mcp.example.com', false), /API key alone/);
});
