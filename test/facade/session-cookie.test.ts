import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import jwt from 'jsonwebtoken';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { makeKey, mustCall, rest } from '../support/calls.ts';
import { freePort } from '../support/free-port.ts';
import { startTestServer } from '../support/server.ts';
import { cookieOf, idTokenFor, postIdToken, signIn, statusWith } from '../support/sign-in.ts';

const SECRET = 'first-secret-of-at-least-32-characters';
const OLDER = 'older-secret-of-at-least-32-characters';

const server = await startTestServer({ SESSION_SECRET: `${SECRET}, ${OLDER}` });
const cookie = await signIn(server);
const sid: string = (await mustCall(server, cookie, 'list_sessions')).data[0].id;

const exp = () => Math.floor(Date.now() / 1000) + 600;
const forged = (claims: object, secret = SECRET, options: jwt.SignOptions = {}) =>
  `admin-session=${jwt.sign({ sid, aud: 'admin-session', exp: exp(), ...claims }, secret, { algorithm: 'HS256', ...options })}`;
const withHeaders = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
  rest(server, method, path, { headers, body });

/** The cookie of a sign-in at a server under this name, as after DNS rebinding. */
function statusFor(Host: string, idToken: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { Host, 'Content-Type': 'application/json' };
    const sent = request(`${server.baseUrl}/api/v1/auth/session`, { method: 'POST', headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject).end(JSON.stringify({ idToken }));
  });
}

describe('the cookie of a session', () => {
  it('opens nothing unless it is signed for this purpose by a secret of the server', async () => {
    assert.equal(await statusWith(server, cookie), 200);
    assert.equal(await statusWith(server, forged({})), 200, 'the forgeries below differ by one thing');
    const token = cookie.slice('admin-session='.length);
    const [head = '', payload = '', signature = ''] = token.split('.');
    const other = Buffer.from(JSON.stringify({ sid: 'ses_other', aud: 'admin-session', exp: exp() })).toString(
      'base64url',
    );
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
    for (const bad of [
      forged({}, 'another-secret-of-at-least-32-characters'),
      forged({ aud: 'something-else' }),
      forged({ aud: undefined }),
      forged({ exp: exp() - 1200 }),
      forged({ sid: 'ses_unknown' }),
      forged({ sid: { id: sid } }),
      forged({}, SECRET, { algorithm: 'HS512' }),
      `admin-session=${head}.${other}.${signature}`,
      `admin-session=${head}.${payload}.${signature.split('').reverse().join('')}`,
      `admin-session=${none}.${payload}.`,
      `admin-session=${head}.${payload}`,
      `admin-session=${sid}`,
      'admin-session=',
      `admin-session=${'x'.repeat(10_000)}`,
    ]) {
      assert.equal(await statusWith(server, bad), 401, bad.slice(0, 100));
    }
  });

  it('is found among others, also of its own name', async () => {
    const others = `a=b; admin-session=theirs; x; =y; ${cookie}; other-admin-session=z`;
    assert.equal((await withHeaders('GET', '/api/v1/auth/session', { Cookie: others })).status, 200);
  });

  it('gives way to a bearer token, also to a bad one', async () => {
    const reader = await makeKey(server, { scopes: ['read'] });
    const answer = await withHeaders('GET', '/api/v1/auth/session', {
      Cookie: cookie,
      Authorization: `Bearer ${reader}`,
    });
    assert.equal(answer.body.type, 'api-key');
    for (const bad of ['Bearer nothing', 'Bearer', 'bearer ', 'BEARER a b', `Bearer ${reader}x`]) {
      const refused = await withHeaders('GET', '/api/v1/auth/session', { Cookie: cookie, Authorization: bad });
      assert.equal(refused.status, 401, bad);
    }
    const basic = { Cookie: cookie, Authorization: 'Basic dTpw' };
    assert.equal((await withHeaders('GET', '/api/v1/auth/session', basic)).status, 200, 'of a proxy in front');
  });

  it('is accepted under every secret of the server', async () => {
    assert.equal(await statusWith(server, forged({}, OLDER)), 200);
  });

  it('is for https alone where the server is reached by https', async () => {
    const port = await freePort();
    const behindProxy = await startTestServer({ BASE_URL: 'https://admin.example.com', PORT: String(port) });
    const secure = { ...behindProxy, baseUrl: `http://127.0.0.1:${port}` };
    const { headers } = await postIdToken(secure, await idTokenFor(secure));
    assert.match(headers.getSetCookie()[0] ?? '', /; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  });
});

describe('requests that pages of other sites can make', () => {
  const agent = { name: 'cross', displayName: 'Cross' };

  it('change nothing with the cookie', async () => {
    for (const foreign of [
      { 'Sec-Fetch-Site': 'cross-site' },
      { Origin: 'https://evil.example.com' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site', Origin: server.baseUrl },
    ]) {
      const headers = { Cookie: cookie, ...(foreign as Record<string, string>) };
      for (const [method, path, body] of [
        ['POST', '/api/v1/agents', agent],
        ['PUT', '/api/v1/bot-config', { maxTokens: 2048 }],
        ['PATCH', '/api/v1/settings', { workspaceName: 'x' }],
        ['DELETE', '/api/v1/auth/session', undefined],
        ['POST', '/api/v1/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
      ] as const) {
        const answer = await withHeaders(method, path, headers, body);
        assert.deepEqual([answer.status, answer.body.error], [403, 'Insufficient permissions'], `${method} ${path}`);
        assert.match(answer.body.issues[0].path, /^(Origin|Sec-Fetch-Site)$/);
      }
    }
    assert.equal(await statusWith(server, cookie), 200);
  });

  it('do not sign anybody in', async () => {
    const idToken = await idTokenFor(server);
    for (const foreign of [{ 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'https://evil.example.com' }]) {
      assert.equal((await postIdToken(server, idToken, foreign as Record<string, string>)).status, 403);
    }
    assert.equal(await statusFor('evil.example.com', idToken), 403);
    assert.equal(await statusFor('localhost', idToken), 201);
  });

  it('are distinguished from requests of its own pages, of programs, and from reading and following a link', async () => {
    for (const [method, own] of [
      ['POST', { 'Sec-Fetch-Site': 'same-origin', Origin: server.baseUrl }],
      ['POST', {}],
      ['GET', { 'Sec-Fetch-Site': 'cross-site' }],
      ['GET', { 'Sec-Fetch-Site': 'none' }],
    ] as const) {
      const headers = { Cookie: cookie, ...(own as Record<string, string>) };
      const body = method === 'POST' ? { name: `agent ${Math.random()}`, displayName: 'x' } : undefined;
      const { status } = await withHeaders(method, '/api/v1/agents', headers, body);
      assert.equal(status, method === 'POST' ? 201 : 200);
    }
  });

  it('are no matter to a bearer token, which no browser sends by itself', async () => {
    const headers = { Authorization: `Bearer ${server.adminKey}`, 'Sec-Fetch-Site': 'cross-site' };
    assert.equal((await withHeaders('POST', '/api/v1/agents', headers, agent)).status, 201);
  });
});

describe('attempts to sign in', () => {
  it('are 20 a minute from one address', async () => {
    const other = await startTestServer();
    const idToken = await idTokenFor(other);
    for (let attempt = 0; attempt < 20; attempt += 1) assert.equal((await postIdToken(other, 'wrong')).status, 401);
    const limited = await postIdToken(other, idToken);
    assert.deepEqual([limited.status, limited.body.code], [429, 'rate_limited']);
    const wait = Number(limited.headers.get('retry-after'));
    assert.ok(wait > 0 && wait <= 60, `Retry-After ${wait}`);
    assert.equal(await statusWith(other, other.adminKey), 200);
  });

  it('are 5 a minute with one e-mail from one address; others, and those from elsewhere, still go', async () => {
    const other = await startTestServer({ TRUSTED_PROXIES: 'loopback' });
    await mustCall(other, other.adminKey, 'create_admin_user', { email: 'second@example.com' });
    for (let attempt = 0; attempt < 5; attempt += 1) await signIn(other);
    const limited = await postIdToken(other, await idTokenFor(other));
    assert.deepEqual([limited.status, Number(limited.headers.get('retry-after')) > 0], [429, true]);
    const [entry] = (await mustCall(other, other.adminKey, 'list_audit_entries', { tool: 'create_session' })).data;
    assert.deepEqual([entry.outcome, entry.code], ['denied', 'rate_limited']);
    assert.match(cookieOf(await postIdToken(other, await idTokenFor(other, 'second@example.com'))), /./);
    const elsewhere = { 'X-Forwarded-For': '203.0.113.7' };
    assert.equal((await postIdToken(other, await idTokenFor(other), elsewhere)).status, 201);
  });
});

it('the audit of requests that nobody was found for counts them by address and kind: dead cookies, cross-site posts, attempts too many', async () => {
  const other = await startTestServer();
  const dead = await signIn(other);
  await rest(other, 'DELETE', '/api/v1/auth/session', { key: dead });
  for (const bad of [dead, `${dead}x`]) assert.equal(await statusWith(other, bad), 401);
  assert.equal((await postIdToken(other, 'x', { 'Sec-Fetch-Site': 'cross-site' })).status, 403);
  for (let attempt = 0; attempt < 21; attempt += 1) await postIdToken(other, 'wrong');
  await other.stop();
  await other.store.audit.flush();
  const { records } = await other.store.audit.find({ tool: 'authenticate', limit: 10 });
  const told = ({ code, outcome, principal, arguments: args }: AuditEntry) => [code, outcome, principal.type, args];
  assert.deepEqual(records.map(told).sort(), [
    ['forbidden', 'denied', 'anonymous', { attempts: 1 }],
    ['rate_limited', 'denied', 'anonymous', { attempts: 2 }],
    ['unauthenticated', 'denied', 'anonymous', { attempts: 2 }],
  ]);
  const signedOut = await other.store.audit.find({ tool: 'delete_session', limit: 10 });
  assert.equal(signedOut.records[0]?.outcome, 'ok');
});
