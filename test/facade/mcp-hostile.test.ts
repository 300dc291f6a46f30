import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { legacy, modern, modernHeaders, modernMeta, post } from './mcp-requests.ts';
import { type McpTestServer, startMcpServer } from './mcp-server.ts';

/** Longer than any answer takes; a request without an answer fails by it. */
const PATIENCE_MS = 10_000;

const odd: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  '',
  'x'.repeat(10_000),
  '\u0000',
  '\ud800',
  '__proto__',
  [],
  [[]],
  {},
  { a: { b: [] } },
  { toString: 1, constructor: null, toJSON: 'x' },
];

describe('hostile input', () => {
  let server: McpTestServer;
  before(async () => {
    server = await startMcpServer();
  });
  after(() => server.close());

  /** Posts to both doors and checks what holds for every answer. */
  async function survive(message: unknown, headers: Record<string, string> = {}) {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answers = await Promise.all(
      [server.url, server.sdkUrl].map((url) => post(url, message, { headers, signal })),
    );
    for (const { status, type, text, body } of answers) {
      const what = String(typeof message === 'string' ? message : JSON.stringify(message)).slice(0, 300);
      assert.ok(status < 500, `${status} for ${what}`);
      if (status === 202) assert.equal(text, '', what);
      else {
        assert.equal(type, 'application/json', what);
        assert.equal(body.jsonrpc, '2.0', what);
        assert.ok('result' in body !== 'error' in body, what);
      }
      assert.doesNotMatch(text, /node_modules|\.ts:|\.mjs|ZodError|at async/, what);
    }
    return answers;
  }

  async function codeOf(message: unknown, headers: Record<string, string> = {}): Promise<number> {
    const [one, other] = await survive(message, headers);
    assert.deepEqual(one?.body, other?.body);
    return one?.body.error?.code;
  }

  it('that is no JSON is -32700 with HTTP 400', async () => {
    for (const text of [
      '',
      ' ',
      '{',
      'null,',
      "{'a':1}",
      '\ufeff{}',
      '{"jsonrpc":"2.0","id":1,"method":"ping"}}',
      'NaN',
    ]) {
      const answers = await survive(text);
      for (const { status, body } of answers) assert.deepEqual([status, body.error.code, body.id], [400, -32700, null]);
    }
  });

  it('that is no UTF-8 is -32700', async () => {
    const body = Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"ping"}', 'latin1');
    const headers = { Authorization: 'Bearer admin', 'Content-Type': 'application/json' };
    const answer = await fetch(server.url, { method: 'POST', headers, body });
    assert.equal(answer.status, 400);
    assert.equal(JSON.parse(await answer.text()).error.code, -32700);
  });

  it('that is no request is -32600', async () => {
    const wrong = [
      ...odd.filter((value) => !Array.isArray(value)),
      { jsonrpc: '2.0', id: 1 },
      { jsonrpc: '1.0', id: 1, method: 'ping' },
      { id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 1, method: 5 },
      { jsonrpc: '2.0', id: 1, method: 'ping', extra: 1 },
      ...[null, true, 1.5, 1e300, 2 ** 53, [], {}].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list' })),
    ];
    for (const message of wrong) assert.equal(await codeOf(JSON.stringify(message)), -32600, JSON.stringify(message));
  });

  it('with params that are none is -32602', async () => {
    for (const method of ['tools/list', 'tools/call', 'ping', 'no/such']) {
      for (const params of [null, 5, 'x', [], [1]]) {
        assert.equal(await codeOf({ jsonrpc: '2.0', id: 1, method, params }), -32602);
      }
      for (const _meta of [null, 5, 'x', [], { progressToken: {} }, { progressToken: 1.5 }]) {
        assert.equal(await codeOf({ jsonrpc: '2.0', id: 1, method, params: { _meta } }), -32602);
      }
    }
  });

  it('of every type at every place is answered', async () => {
    for (const value of odd) {
      await survive({ jsonrpc: value, id: value, method: value, params: value });
      await survive(legacy('tools/call', { name: value }));
      await survive(legacy('tools/call', { name: 'echo', arguments: value }));
      await survive(legacy('tools/call', { name: 'echo', arguments: { text: value, more: value } }));
      await survive(legacy('tools/call', { name: 'get_agent', arguments: { id: value } }));
      await survive(legacy('tools/call', { name: 'echo', arguments: {}, _meta: value }));
      await survive(legacy('tools/call', { name: 'echo', task: value }));
      await survive(legacy('tools/list', { cursor: value }));
      await survive(legacy('initialize', { protocolVersion: value, capabilities: value, clientInfo: value }));
      await survive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: value } });
      await survive({ jsonrpc: '2.0', id: value, result: value });
      for (const member of Object.keys(modernMeta)) {
        await survive(modern('tools/list', {}, { [member]: value }), modernHeaders('tools/list'));
        await survive(modern('tools/call', { name: 'echo' }, { [member]: value }));
      }
      const name = (JSON.stringify(value) ?? '').replace(/[^\x20-\x7e]|\s/g, '');
      await survive(modern('tools/call', { name: value, arguments: value }), modernHeaders('tools/call', name));
    }
  });

  it('that names prototypes changes nothing', async () => {
    const bodies = [
      '{"__proto__":{"admin":true},"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"__proto__":{"cursor":"x"}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"echo"}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"text":"x"}}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"more":{"__proto__":{"a":1}}}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"constructor","arguments":{"constructor":{"prototype":{"a":1}}}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"__proto__":{"idempotencyKey":5}}}}',
      '{"jsonrpc":"2.0","id":1,"method":"constructor"}',
      '{"jsonrpc":"2.0","id":"__proto__","method":"tools/list"}',
    ];
    for (const body of bodies) await survive(body);
    assert.equal(({} as Record<string, unknown>).admin, undefined);
    assert.equal(await codeOf(bodies[2]), -32602);
  });

  it('with duplicate keys means the last of them at both paths', async () => {
    const body =
      '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/call","params":{},"params":{"name":"wait","name":"echo"}}';
    for (const { body: answer } of await survive(body)) {
      assert.equal(answer.id, 2);
      assert.equal(answer.result.structuredContent.text, 'none');
    }
  });

  it('nested without end is answered at once', async () => {
    for (const depth of [150, 5000, 600_000]) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const nested = open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth);
        await survive(nested);
        await survive(
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"more":{"x":${nested}}}}}`,
        );
        await survive(
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"x":${nested}}}}`,
        );
        await survive(
          `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"experimental":{"x":${nested}}}}}`,
        );
        const meta = JSON.stringify(modernMeta).replace('{}', `{"experimental":{"x":${nested}}}`);
        await survive(
          `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${meta}}}`,
          modernHeaders('tools/list'),
        );
      }
    }
    const brackets = '['.repeat(10_000);
    const [answer] = await survive(
      legacy('tools/call', { name: 'echo', arguments: { text: `${brackets}\\"${brackets}` } }),
    );
    assert.equal(answer?.body.result.structuredContent.text.length, 20_002);
  });

  it('with an id of any length is answered under that id', async () => {
    for (const id of ['', 'x'.repeat(1_000_000), '\u0000"\\', '\ud800', -0, Number.MIN_SAFE_INTEGER]) {
      for (const { body } of await survive(legacy('tools/list', {}, id)))
        assert.equal(body.id, JSON.parse(JSON.stringify(id)));
    }
  });

  it('in headers is refused or ignored', async () => {
    const values = [
      ...['', ' ', 'x'.repeat(5000), '2026-07-28, 2026-07-28', '=?base64?!!?=', '=?base64?ZWNobw==?='],
      ...['__proto__', 'null'],
    ];
    for (const value of values) {
      for (const header of 'MCP-Protocol-Version Mcp-Method Mcp-Name Accept Last-Event-Id Mcp-Session-Id'.split(' ')) {
        await survive(legacy('tools/call', { name: 'echo' }), { [header]: value });
        await survive(modern('tools/call', { name: 'echo' }), {
          ...modernHeaders('tools/call', 'echo'),
          [header]: value,
        });
      }
    }
  });

  it('left nothing in the log', () => {
    assert.deepEqual(server.errors, []);
  });
});
