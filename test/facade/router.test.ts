import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { allowed, createMatcher } from '../../facade/http/router.ts';
import { serverForTests, type TestServer } from '../support/server.ts';
import { legacy } from './mcp-requests.ts';

const BOOTSTRAP_API_KEY = `ak_router00_${'r'.repeat(43)}`;
const plain = serverForTests({ BOOTSTRAP_API_KEY, LOG_LEVEL: 'info' });
const logging = serverForTests({
  BOOTSTRAP_API_KEY,
  LOG_LEVEL: 'debug',
  ALLOWED_ORIGINS: 'https://app.example.com',
});

const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'PUT', 'PROPFIND'];
const TARGETS = [
  ...['/api', '/api/', '/api?x=1', '/api/?x=1', '/api//v1/agents', '/apis/v1/agents', '/API/v1/agents'],
  ...['/Api/V1/Agents', '/api/v1/agents', '/api/v1/agents/', '/api/v1/agents?limit=1'],
  ...['/api/v1/agents?limit=1#part', '/api/v1/agents/agt_none', '/api/v1/../v1/agents'],
  ...['/api/%2e%2e/v1/agents', '/api/v1/agents/%zz', '/api/v1/agents/%00', '/api;x/v1/agents'],
  ...['/api\\v1\\agents', '/x/../api/v1/agents', '//api/v1/agents', 'http://127.0.0.1/api/v1/agents'],
  ...['http://[/api/v1/agents', '/api/v1/mcp', '/api/capsules/cap_none/mcp', '/api/v1/auth/session'],
  ...['/api/v1/openapi?x=1', '*'],
];

const JSON_TYPE = 'application/json; charset=utf-8';

/** Ids, times, ports and the marks of browsers, which differ from server to server. */
const OWN = /admin-browser=[\w-]+|127\.0\.0\.1:\d+|\b[a-z]{3}_[0-9a-z]{26}\b|\b\d{4}-\d\d-\d\dT[\d:.]+Z/g;

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

async function answerOf({ baseUrl }: TestServer, { method, target, headers, body }: Asked) {
  const asking = request(baseUrl, { method, path: target, headers: { 'X-Request-Id': 'same', ...headers } });
  asking.end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const { date: _, ...others } = answer.headers;
  const shown = JSON.stringify({ headers: others, body: await text(answer) }).replace(OWN, '*');
  return { status: answer.statusCode, ...(JSON.parse(shown) as { headers: typeof others; body: string }) };
}

describe('the door', () => {
  const bearer = { Authorization: `Bearer ${BOOTSTRAP_API_KEY}` };
  const json = { 'Content-Type': 'application/json' };

  for (const method of METHODS) {
    it(`answers alike with and without CORS and a log of requests, ${method}`, async () => {
      const body = method === 'POST' ? JSON.stringify(legacy('ping')) : undefined;
      for (const target of TARGETS) {
        for (const headers of [{}, bearer, { ...bearer, Host: 'evil.example' }, { ...bearer, Expect: 'nonsense' }]) {
          const asked = { method, target, headers: body ? { ...json, ...headers } : headers, body };
          const [one, other] = [await answerOf(plain, asked), await answerOf(logging, asked)];
          assert.deepEqual(one, other, `${method} ${target} ${JSON.stringify(headers)}`);
        }
      }
    });
  }

  it('finds the caller before it says what is below /api, and nobody elsewhere', async () => {
    const statusOf = async (method: string, target: string, headers = {}) =>
      (await answerOf(plain, { method, target, headers })).status;
    for (const target of ['/api', '/api/none', '/api/v1/agents/', '/api/../x', 'http://127.0.0.1/api/v1/agents']) {
      assert.equal(await statusOf('GET', target), 401, target);
    }
    // Express cannot read this one, and comes back with it before any step.
    assert.equal(
      (await answerOf(plain, { method: 'GET', target: 'http://[/api/v1', headers: {} })).headers['content-type'],
      JSON_TYPE,
    );
    assert.equal(await statusOf('GET', '/api/none', bearer), 404);
    assert.equal(await statusOf('GET', '/apis'), 404);
    assert.equal(await statusOf('GET', '/.well-known/jwks.json'), 200);
    assert.equal(await statusOf('HEAD', '/.well-known/jwks.json'), 200);
    const refused = await answerOf(plain, { method: 'POST', target: '/.well-known/jwks.json', headers: {} });
    assert.deepEqual([refused.status, refused.headers.allow], [405, 'HEAD, GET']);
  });
});

describe('createMatcher', () => {
  const targets = [
    ['GET', '/things'],
    ['GET', '/things/{id}'],
    ['PATCH', '/things/{id}'],
    ['GET', '/things/count'],
    ['*', '/things/{id}/files/{+path}'],
    ['*', '/open/{+path}'],
    ['GET', '/open/page'],
  ].map(([method = '', path = '']) => ({ method, path }));
  const match = createMatcher(targets);
  const found = (method: string, path: string) => {
    const result = match(method, path);
    return result && [result.target?.path, result.parameters];
  };

  it('takes a fixed segment for nothing else', () => {
    assert.deepEqual(found('GET', '/things'), ['/things', {}]);
    assert.deepEqual(found('HEAD', '/things/a%20b'), ['/things/{id}', { id: 'a b' }]);
    assert.deepEqual(found('PATCH', '/things/count'), [undefined, {}]);
    for (const path of ['/', '/thing', '/things/', '/things//files', '/things/1/2', '/things/%zz']) {
      assert.equal(match('GET', path), undefined, path);
    }
    assert.equal(allowed(match('PUT', '/things/1')?.here ?? []), 'HEAD, GET, PATCH');
  });

  it('leads everything below to an endpoint for all of it, but for what has its own', () => {
    assert.deepEqual(found('DELETE', '/open/a/b%2Fc'), ['/open/{+path}', { path: 'a/b/c' }]);
    assert.deepEqual(found('GET', '/open/page'), ['/open/page', {}]);
    assert.deepEqual(found('GET', '/open/page/'), ['/open/{+path}', { path: 'page/' }]);
    assert.deepEqual(found('PUT', '/things/1/files/x/y'), ['/things/{id}/files/{+path}', { id: '1', path: 'x/y' }]);
    assert.equal(match('GET', '/open'), undefined);
    assert.equal(match('GET', '/things/1/files'), undefined);
  });
});
