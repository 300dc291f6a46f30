import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { createRateLimit } from '../../tools/core/access/rate-limit.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { makeCapsule, makeKey, type RestAnswer, rest } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { postIdToken } from '../support/sign-in.ts';

/** Where tests stand in time; only the date is theirs, timers run on. */
let now = Date.parse('2026-03-01T12:00:00.000Z');
before(() => mock.timers.enable({ apis: ['Date'], now }));
after(() => mock.timers.reset());
const pass = (seconds: number) => {
  now += seconds * 1000;
  mock.timers.setTime(now);
};

it('a rate limit counts a minute from the first call on, for each key of its own', async () => {
  const limit = createRateLimit(3, 'calls', { cluster: undefined });
  const takes = async (key: string) => {
    const refused = await limit(key).catch((error) => error);
    assert.ok(refused === undefined || refused instanceof ToolError);
    return refused?.detail.retryAfterSeconds ?? 0;
  };
  assert.deepEqual([await takes('a'), await takes('a')], [0, 0]);
  pass(20.5);
  assert.deepEqual([await takes('a'), await takes('a'), await takes('b')], [0, 40, 0]);
  pass(39);
  assert.equal(await takes('a'), 1);
  pass(0.5);
  assert.deepEqual([await takes('a'), await takes('a'), await takes('a'), await takes('a')], [0, 0, 0, 60]);
  assert.deepEqual([await takes('b'), await takes('b'), await takes('b')], [0, 0, 21]);
});

describe('Retry-After', () => {
  const server = serverForTests({ RATE_LIMIT_PER_MINUTE: '5' });

  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_agents', arguments: {} } };

  /** Calls until it is refused: after that many, with a wait that is enough and not one second less. */
  async function tryOut(allowed: number, ask: () => Promise<RestAnswer>): Promise<void> {
    for (const round of ['first', 'second']) {
      for (let count = 0; count < allowed; count += 1) assert.notEqual((await ask()).status, 429, `${round} ${count}`);
      pass(10);
      const { status, headers, body } = await ask();
      assert.deepEqual([status, body.code], [429, 'rate_limited']);
      const seconds = Number(headers.get('Retry-After'));
      assert.equal(seconds, 50);
      assert.match(body.error, /again in 50 seconds/);
      pass(seconds - 1);
      assert.equal((await ask()).headers.get('Retry-After'), '1');
      pass(1);
    }
  }

  it('says over REST and MCP how long to wait, and that is enough', async () => {
    const key = await makeKey(server, { scopes: ['read'] });
    await tryOut(5, () => rest(server, 'GET', '/api/v1/health', { key }));
    await tryOut(5, () => rest(server, 'POST', '/api/v1/mcp', { key, body: list }));
  });

  it('of both together: a call over either counts', async () => {
    const key = await makeKey(server, { scopes: ['read'] });
    let turn = 0;
    await tryOut(5, () => {
      turn += 1;
      if (turn % 2 === 0) return rest(server, 'GET', '/api/v1/health', { key });
      return rest(server, 'POST', '/api/v1/mcp', { key, body: list });
    });
  });

  it('says so at the endpoint of a capsule with a limit of its own, where calls count and lists do not', async () => {
    pass(60);
    const capsule = await makeCapsule(server, { allowedTools: ['list_agents'], callsPerMinute: 2 });
    const path = `/api/capsules/${capsule.id}/mcp`;
    const ask = (body: object) => rest(server, 'POST', path, { key: capsule.token, body });
    await ask(list);
    await tryOut(2, () => ask(call));
  });

  it('says so where too many try to sign in', async () => {
    await tryOut(20, () => postIdToken(server, 'wrong'));
  });
});
