import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { INPUT_LIMITS, inputLimitsOf } from '../../tools/core/registry/json-limits.ts';
import { mustCall, rest } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { serverForTests } from '../support/server.ts';

const server = serverForTests({ RATE_LIMIT_PER_MINUTE: '0' });
const capsules = capsuleClients(() => server);

const list = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

interface Door {
  readonly name: string;
  /** Members and levels of the body besides the value. */
  readonly around: { readonly members: number; readonly levels: number };
  /** Sends the value as an argument that the tool does not take. */
  send(value: string, key: 'admin' | 'refused', zipped?: boolean): Promise<{ status: number; code: unknown }>;
}

describe('a body with too much in it', () => {
  let reader = '';
  let capsule = { id: '', token: '' };
  before(async () => {
    reader = (await mustCall(server, server.adminKey, 'create_api_key', { name: 'reader', scopes: ['read'] })).secret;
    capsule = await capsules.make({ allowedTools: ['create_skill', 'list_agents'] });
  });
  const keyOf = (who: 'admin' | 'refused') => (who === 'admin' ? server.adminKey : reader);

  async function post(path: string, key: string, body: string, zipped = false) {
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      ...(zipped && { 'Content-Encoding': 'gzip' }),
    };
    const sent = zipped ? gzipSync(body) : body;
    const response = await fetch(`${server.baseUrl}${path}`, { method: 'POST', headers, body: sent });
    // Whatever the door answers.
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    const answer: any = await response.json();
    const told = answer.result?.isError ? JSON.parse(answer.result.content[0].text) : answer;
    return { status: response.status, code: told.code ?? told.error?.code };
  }

  const message = (value: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_skill","arguments":{"a":${value}}}}`;
  const doors: readonly Door[] = [
    {
      name: 'REST',
      around: { members: 1, levels: 1 },
      send: (value, who, zipped) => post('/api/v1/agents/skills', keyOf(who), `{"a":${value}}`, zipped),
    },
    {
      name: 'MCP',
      around: { members: 7, levels: 3 },
      send: (value, who, zipped) => post('/api/v1/mcp', keyOf(who), message(value), zipped),
    },
    {
      name: 'a capsule',
      around: { members: 7, levels: 3 },
      send: (value, _, zipped) => post(`/api/capsules/${capsule.id}/mcp`, capsule.token, message(value), zipped),
    },
  ];

  for (const { name, around, send } of doors) {
    it(`is refused unread over ${name}, from whatever key, compressed too`, async () => {
      for (const who of ['admin', 'refused'] as const) {
        // Over MCP the tool shows only in the body, so who may call a bulk tool may send as much as that takes.
        const bounds = inputLimitsOf(name === 'MCP' && who === 'admin' ? { bulk: true } : {});
        const most = bounds.members - around.members;
        for (const zipped of [false, true]) {
          const over = await send(list(most + 1), who, zipped);
          // A tool that the path names is refused whatever the body is.
          const refusal = name === 'REST' && who === 'refused' ? [403, 'forbidden'] : [413, 'too_large'];
          assert.deepEqual([over.status, over.code], refusal, `${who} ${zipped}`);
          const inside = await send(list(most), who, zipped);
          const expected = name !== 'a capsule' && who === 'refused' ? 'forbidden' : 'invalid_input';
          assert.equal(inside.code, expected, `${who} ${zipped}`);
        }
      }
      const levels = INPUT_LIMITS.levels - around.levels;
      const deep = await send(nested(levels + 1), 'admin');
      assert.deepEqual([deep.status, deep.code], [400, name === 'REST' ? 'invalid_input' : -32600]);
      assert.equal((await send(nested(levels), 'admin')).code, 'invalid_input');
    });
  }

  it('is refused with what an MCP message carries besides the arguments, far sooner', async () => {
    for (const params of [`{"_meta":{"x":${list(6000)}}}`, `{"name":"list_agents","x":${list(6000)}}`]) {
      const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`;
      const answer = await rest(server, 'POST', '/api/v1/mcp', { key: reader, body });
      assert.deepEqual([answer.status, answer.body.id, answer.body.error.code], [400, 7, -32600]);
      assert.match(answer.body.error.message, /more than 5000 members besides the arguments/);
    }
  });

  it('leaves room for the largest import', async () => {
    const members = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`p${at}`, at]));
    const rows = Array.from({ length: 1000 }, (_, at) => ({
      id: `e${at}`,
      name: 'opened',
      uid: 'u1',
      at: '2026-01-01T00:00:00Z',
      properties: members,
    }));
    const imported = await mustCall(server, server.adminKey, 'import_records', { type: 'events', records: rows });
    assert.equal(imported.received, 1000);
  });

  it('is as large as a bulk tool takes it only from who may call one, and for that tool', async () => {
    const bulk = inputLimitsOf({ bulk: true }).members;
    const send = (name: string, value: string, key: string) =>
      post('/api/v1/mcp', key, message(value).replace('create_skill', name));
    const fits = list(bulk - 7);
    assert.equal((await send('import_records', fits, server.adminKey)).code, 'invalid_input');
    assert.equal((await send('import_records', list(bulk), server.adminKey)).code, 'too_large');
    assert.equal((await send('import_records', fits, reader)).code, 'too_large');
    const other = await rest(server, 'POST', '/api/v1/mcp', { key: server.adminKey, body: message(fits) });
    assert.match(other.body.result.content[0].text, /More than 10000 members; send less at a time/);
    const settings = {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${server.adminKey}`, 'Content-Type': 'application/json' },
    };
    const patch = async (body: string) =>
      (await fetch(`${server.baseUrl}/api/v1/settings`, { ...settings, body })).status;
    assert.equal(await patch(`{"a":${list(bulk - 1)}}`), 400);
    assert.equal(await patch(`{"a":${list(bulk)}}`), 413);
  });

  it('waits while a short request that came after it is answered', async () => {
    const order: string[] = [];
    const nested = Array.from({ length: 4000 }, (_, at) => `{"k${at}":1}`).join(',');
    const heavy = Array.from({ length: 16 }, async (_, at) => {
      await post('/api/v1/agents/skills', server.adminKey, `{"a":[${nested}]}`);
      order.push(`heavy ${at}`);
    });
    await Promise.any(heavy);
    await rest(server, 'GET', '/api/v1/agents/none', { key: reader });
    order.push('light');
    await Promise.all(heavy);
    assert.ok(order.indexOf('light') < 10, order.join(', '));
  });
});
