import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { serverForTests, type TestServer } from '../support/server.ts';
import { legacy } from './mcp-requests.ts';

const BOOTSTRAP_API_KEY = `ak_router00_${'r'.repeat(43)}`;
/** Without CORS and a log of requests, the API is not looked up by Express's router. */
const past = serverForTests({ BOOTSTRAP_API_KEY, LOG_LEVEL: 'info' });
const through = serverForTests({ BOOTSTRAP_API_KEY, LOG_LEVEL: 'debug' });

const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'PUT', 'PROPFIND'];
const TARGETS = [
  '/api',
  '/api/',
  '/api?x=1',
  '/api/?x=1',
  '/api//v1/agents',
  '/apis/v1/agents',
  '/API/v1/agents',
  '/Api/V1/Agents',
  '/api/v1/agents',
  '/api/v1/agents/',
  '/api/v1/agents?limit=1',
  '/api/v1/agents?limit=1#part',
  '/api/v1/agents/agt_none',
  '/api/v1/../v1/agents',
  '/api/%2e%2e/v1/agents',
  '/api/v1/agents/%zz',
  '/api/v1/agents/%00',
  '/api;x/v1/agents',
  '/api\\v1\\agents',
  '/x/../api/v1/agents',
  '//api/v1/agents',
  'http://127.0.0.1/api/v1/agents',
  '/api/v1/mcp',
  '/api/capsules/cap_none/mcp',
  '/api/v1/auth/session',
  '/api/v1/openapi?x=1',
  '*',
];

/** Ids and times, of which each server has its own. */
const OWN = /\b[a-z]{3}_[0-9a-z]{26}\b|\b\d{4}-\d\d-\d\dT[\d:.]+Z/g;

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
  return { status: answer.statusCode, headers: others, body: (await text(answer)).replace(OWN, '*') };
}

describe('requests that go past the router of Express', () => {
  const bearer = { Authorization: `Bearer ${BOOTSTRAP_API_KEY}` };
  const json = { 'Content-Type': 'application/json' };

  for (const method of METHODS) {
    it(`are answered like those that go through it, ${method}`, async () => {
      const body = method === 'POST' ? JSON.stringify(legacy('ping')) : undefined;
      for (const target of TARGETS) {
        for (const headers of [{}, bearer, { ...bearer, Host: 'evil.example' }, { ...bearer, Expect: 'nonsense' }]) {
          const asked = { method, target, headers: body ? { ...json, ...headers } : headers, body };
          const [one, other] = [await answerOf(past, asked), await answerOf(through, asked)];
          assert.deepEqual(one, other, `${method} ${target} ${JSON.stringify(headers)}`);
        }
      }
    });
  }
});
