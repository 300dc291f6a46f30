import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PROTOCOL_VERSIONS } from '../../facade/mcp/mcp.ts';
import { LEGACY_VERSIONS } from '../../facade/mcp/protocol-versions.ts';
import { inEra, legacy, modern, modernHeaders, modernMeta, post } from './mcp-requests.ts';
import { brokenToken, type McpTestServer, startMcpServer, tokens } from './mcp-server.ts';

let server: McpTestServer;
let agent: Record<string, unknown>;

before(async () => {
  server = await startMcpServer();
  const made = await post(server.url, legacy('tools/call', { name: 'create_agent', arguments: ADA }));
  agent = made.body.result.structuredContent;
});
after(() => server.close());

const ADA = { name: 'ada', displayName: 'Ada' };

for (const path of ['url', 'sdkUrl'] as const) {
  describe(`MCP ${path === 'url' ? 'door' : 'door without its direct path'}`, () => {
    for (const era of ['legacy', 'modern'] as const) describe(`in a ${era} revision`, () => rulesOfBoth(era, path));
    describe('in a legacy revision', () => rulesOfLegacy(path));
    describe('in revision 2026-07-28', () => rulesOfModern(path));
  });
}

function rulesOfBoth(era: 'legacy' | 'modern', path: 'url' | 'sdkUrl'): void {
  const ask = (method: string, params = {}, options = {}) => {
    const { message, headers } = inEra(era, method, params);
    return post(server[path], message, { headers, ...options });
  };
  const call = (name: string, input?: unknown, options = {}) =>
    ask('tools/call', { name, ...(input !== undefined && { arguments: input }) }, options);

  it('gives one JSON body for every method, whatever the client says it accepts', async () => {
    const calls = [
      ['tools/list'],
      ['tools/call', { name: 'echo', arguments: {} }],
      ['tools/call', { name: 'count_up', arguments: { to: 2 }, _meta: { progressToken: 1 } }],
      ['no/such'],
      [era === 'modern' ? 'server/discover' : 'ping'],
      ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
    ] as const;
    for (const [method, params] of calls) {
      for (const accept of ['*/*', 'application/json', 'text/html']) {
        const { message, headers } = inEra(era, method, params);
        const all =
          era === 'modern'
            ? { ...params, _meta: { ...modernMeta, ...(params && '_meta' in params && params._meta) } }
            : params;
        const sent = { ...message, ...(all && { params: all }) };
        const answer = await post(server[path], sent, { headers: { ...headers, Accept: accept } });
        assert.equal(answer.type, 'application/json', method);
        assert.notEqual(answer.status, 406);
        assert.equal(answer.body.id, 1);
        assert.equal(answer.headers.get('x-request-id'), 'req_test');
        assert.equal(answer.headers.get('cache-control'), 'no-store');
      }
    }
  });

  it('answers a call with its output, as structured content and as one text block', async () => {
    const { status, body } = await call('get_agent', { id: agent.id });
    assert.equal(status, 200);
    assert.equal(body.jsonrpc, '2.0');
    assert.deepEqual(body.result.structuredContent, agent);
    assert.equal(body.result.content.length, 1);
    assert.equal(body.result.content[0].type, 'text');
    assert.deepEqual(JSON.parse(body.result.content[0].text), agent);
    assert.equal('isError' in body.result, false);
  });

  it('takes a call without arguments', async () => {
    const { body } = await call('echo');
    assert.deepEqual(body.result.structuredContent, { text: 'none' });
  });

  it('keeps every character of inputs and ids', async () => {
    const text = '🙂 "\\ \u2028 \u0001 é';
    const { message, headers } = inEra(era, 'tools/call', { name: 'echo', arguments: { text } });
    const { body } = await post(server[path], { ...message, id: text }, { headers });
    assert.equal(body.result.structuredContent.text, text);
    assert.equal(body.id, text);
  });

  it('answers wrong arguments, missing rights and failures with an error result that has no structured content', async () => {
    const refused = [
      [await call('get_agent', { id: 5, x: 1 }), 'invalid_input'],
      [await call('get_agent', { id: 'agt_none' }), 'not_found'],
      [await call('create_agent', ADA, { token: tokens.reader }), 'forbidden'],
      [await call('create_agent', ADA), 'conflict'],
      [await call('break_down'), 'internal'],
    ] as const;
    for (const [{ status, body }, code] of refused) {
      assert.equal(status, 200);
      assert.equal(body.result.isError, true);
      assert.equal('structuredContent' in body.result, false);
      assert.equal(body.result.content.length, 1);
      const error = JSON.parse(body.result.content[0].text);
      assert.equal(error.code, code);
      assert.equal(error.requestId, 'req_test');
      assert.equal(typeof error.error, 'string');
    }
    const invalid = JSON.parse(refused[0][0].body.result.content[0].text);
    assert.deepEqual(invalid.issues.map(({ path }: { path: string }) => path).sort(), ['id', 'x']);
    const forbidden = JSON.parse(refused[2][0].body.result.content[0].text);
    assert.equal(forbidden.error, 'Insufficient permissions');
    assert.deepEqual(forbidden.required, { scope: 'agents:write', grant: 'agent:write' });
  });

  it('shows nothing of an unexpected failure and logs its cause', async () => {
    const logged = server.errors.length;
    const { text } = await call('break_down');
    assert.doesNotMatch(text, /hunter2|secret|at .*\.ts/);
    assert.match(String(server.errors[logged]), /hunter2/);
  });

  it('answers with -32603 and a fixed sentence where it fails itself, and logs the cause', async () => {
    const logged = server.errors.length;
    const { body, text } = await ask('tools/list', {}, { token: brokenToken });
    assert.equal(body.error.code, -32603);
    assert.doesNotMatch(text, /hunter2/);
    assert.match(String(server.errors[logged]), /hunter2/);
    assert.equal(server.errors.length, logged + 1);
  });

  it('answers an unknown tool with -32602 and the nearest names, and audits it', async () => {
    const { status, body } = await call('get_agnt', {});
    assert.equal(status, 200);
    assert.equal(body.error.code, -32602);
    assert.match(body.error.message, /get_agent/);
    await server.store.audit.flush();
    const { records } = await server.store.audit.find({ limit: 1 });
    assert.deepEqual([records[0]?.code, records[0]?.door], ['not_found', 'mcp']);
  });

  it('knows no door-only tool', async () => {
    const { body } = await call('get_mcp_status', {});
    assert.equal(body.error.code, -32602);
  });

  it('answers malformed params with -32602', async () => {
    const wrong = [
      {},
      { name: 5 },
      { name: null },
      { name: 'echo', arguments: [] },
      { name: 'echo', arguments: null },
      { name: 'echo', arguments: 'x' },
    ];
    for (const params of wrong)
      assert.equal((await ask('tools/call', params)).body.error.code, -32602, JSON.stringify(params));
    for (const cursor of [5, 'x', {}, null])
      assert.equal((await ask('tools/list', { cursor })).body.error.code, -32602);
    for (const key of [5, null, {}]) {
      const params = { name: 'echo', _meta: { ...(era === 'modern' && modernMeta), idempotencyKey: key } };
      const message = { ...legacy('tools/call', params) };
      const headers = era === 'modern' ? modernHeaders('tools/call', 'echo') : {};
      assert.equal((await post(server[path], message, { headers })).body.error.code, -32602);
    }
  });

  it('answers a repeat of a write under its idempotency key with the first answer', async () => {
    const meta = { idempotencyKey: `key ${era} ${path}` };
    const params = { name: 'count_runs', arguments: {}, _meta: { ...(era === 'modern' && modernMeta), ...meta } };
    const headers = era === 'modern' ? modernHeaders('tools/call', 'count_runs') : {};
    const first = await post(server[path], legacy('tools/call', params), { headers });
    const second = await post(server[path], legacy('tools/call', params), { headers });
    assert.equal(first.headers.get('idempotency-replayed'), null);
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(second.body, first.body);
    const another = await call('count_runs', {});
    assert.notDeepEqual(another.body.result, first.body.result);
  });

  it('refuses batches, empty ones and those with one message too', async () => {
    const { message, headers } = inEra(era, 'tools/list');
    for (const batch of [[], [message], [message, message], [5]]) {
      const { status, body } = await post(server[path], batch, { headers });
      assert.equal(status, 400);
      assert.equal(body.error.code, -32600);
      assert.equal(body.id, null);
    }
  });

  it('takes a notification with 202 and no body', async () => {
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/anything']) {
      const { id, ...notification } = inEra(era, method).message;
      const { status, text } = await post(server[path], notification, { headers: inEra(era, method).headers });
      assert.deepEqual([id, status, text], [1, 202, '']);
    }
  });

  it('writes the audit entry of a call with the door and the request id', async () => {
    await call('get_agent', { id: agent.id }, {});
    await server.store.audit.flush();
    const { records } = await server.store.audit.find({ limit: 1 });
    assert.equal(records[0]?.tool, 'get_agent');
    assert.equal(records[0]?.door, 'mcp');
    assert.equal(records[0]?.requestId, 'req_test');
  });
}

function rulesOfLegacy(path: 'url' | 'sdkUrl'): void {
  const clientInfo = { name: 'script', version: '1' };

  it('agrees on the revision the client names, or on the newest of its era', async () => {
    const agreed = async (protocolVersion: string) => {
      const params = { protocolVersion, capabilities: {}, clientInfo };
      const { body } = await post(server[path], legacy('initialize', params));
      assert.deepEqual(body.result.capabilities, announced(false));
      assert.deepEqual(body.result.serverInfo, { name: 'agent-admin', version: '0.0.0' });
      return body.result.protocolVersion;
    };
    for (const version of LEGACY_VERSIONS) assert.equal(await agreed(version), version);
    for (const other of ['2026-07-28', '1999-01-01', '']) assert.equal(await agreed(other), '2025-11-25');
  });

  it('opens no session', async () => {
    const { headers } = await post(
      server[path],
      legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }),
    );
    assert.equal(headers.get('mcp-session-id'), null);
  });

  it('takes calls without initialize, with the header of each revision and without it', async () => {
    for (const version of [undefined, ...LEGACY_VERSIONS]) {
      const headers: Record<string, string> = version === undefined ? {} : { 'MCP-Protocol-Version': version };
      const { body } = await post(server[path], legacy('tools/call', { name: 'echo', arguments: {} }), { headers });
      assert.deepEqual(Object.keys(body.result).sort(), ['content', 'structuredContent']);
      const list = await post(server[path], legacy('tools/list'), { headers });
      assert.deepEqual(Object.keys(list.body.result), ['tools']);
    }
  });

  it('refuses a revision it does not speak', async () => {
    const { status, body } = await post(server[path], legacy('tools/list'), {
      headers: { 'MCP-Protocol-Version': '2024-01-01' },
    });
    assert.equal(status, 400);
    assert.match(body.error.message, /2025-11-25/);
  });

  it('answers ping', async () => {
    assert.deepEqual((await post(server[path], legacy('ping'))).body.result, {});
  });

  it('answers an unknown method with -32601', async () => {
    for (const method of 'no/such server/discover resources/subscribe resources/unsubscribe constructor __proto__'.split(
      ' ',
    )) {
      const { status, body } = await post(server[path], legacy(method));
      assert.deepEqual([status, body.error.code, body.id], [200, -32601, 1], method);
    }
  });

  it('answers a malformed initialize with -32602 and without the words of the schema library', async () => {
    for (const params of [
      {},
      { protocolVersion: 5 },
      { protocolVersion: '2025-11-25', capabilities: [], clientInfo },
    ]) {
      const { body } = await post(server[path], legacy('initialize', params));
      assert.equal(body.error.code, -32602);
      assert.doesNotMatch(body.error.message, /expected|received|\[/);
    }
  });
}

function rulesOfModern(path: 'url' | 'sdkUrl'): void {
  it('discovers the revision and that lists can change', async () => {
    const { body } = await post(server[path], modern('server/discover'), { headers: modernHeaders('server/discover') });
    assert.deepEqual(body.result.supportedVersions, PROTOCOL_VERSIONS.slice(0, 1));
    assert.deepEqual(body.result.capabilities, announced(true));
    assert.equal(body.result.resultType, 'complete');
  });

  it('marks lists as private and stale at once, and results as complete', async () => {
    const list = await post(server[path], modern('tools/list'), { headers: modernHeaders('tools/list') });
    const { tools, _meta, ...rest } = list.body.result;
    assert.deepEqual(rest, { resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    assert.deepEqual(_meta, { 'io.modelcontextprotocol/serverInfo': { name: 'agent-admin', version: '0.0.0' } });
    assert.ok(tools.length > 20);
    const call = await post(server[path], modern('tools/call', { name: 'echo' }), {
      headers: modernHeaders('tools/call', 'echo'),
    });
    assert.deepEqual(Object.keys(call.body.result).sort(), ['_meta', 'content', 'resultType', 'structuredContent']);
  });

  it('answers an unknown method with 404 and -32601', async () => {
    for (const method of ['no/such', 'ping', 'initialize', 'logging/setLevel']) {
      const { status, body } = await post(server[path], modern(method), { headers: modernHeaders(method) });
      assert.deepEqual([status, body.error.code], [404, -32601], method);
    }
  });

  it('refuses a version it does not speak with 400 and -32022', async () => {
    for (const version of ['2027-01-01', '2025-11-25']) {
      const meta = { 'io.modelcontextprotocol/protocolVersion': version };
      const headers = { ...modernHeaders('tools/list'), 'MCP-Protocol-Version': version };
      const { status, body } = await post(server[path], modern('tools/list', {}, meta), { headers });
      assert.deepEqual([status, body.error.code], [400, -32022]);
      assert.deepEqual(body.error.data, { supported: ['2026-07-28'], requested: version });
    }
  });

  it('refuses headers that differ from the body, or are missing, with 400 and -32020', async () => {
    const call = modern('tools/call', { name: 'echo' });
    const right = modernHeaders('tools/call', 'echo');
    const without = (name: string) => Object.fromEntries(Object.entries(right).filter(([each]) => each !== name));
    const wrong = [
      { ...right, 'Mcp-Method': 'tools/list' },
      { ...right, 'Mcp-Name': 'wait' },
      { ...right, 'MCP-Protocol-Version': '2025-11-25' },
      without('Mcp-Method'),
      without('Mcp-Name'),
      without('MCP-Protocol-Version'),
    ];
    for (const headers of wrong) {
      const { status, body } = await post(server[path], call, { headers });
      assert.deepEqual([status, body.error.code, body.id], [400, -32020, 1], JSON.stringify(headers));
    }
  });

  it('refuses a request whose _meta lacks a member with 400 and -32602', async () => {
    const headers = modernHeaders('tools/list');
    for (const member of ['io.modelcontextprotocol/protocolVersion', 'io.modelcontextprotocol/clientCapabilities']) {
      const _meta = Object.fromEntries(Object.entries(modernMeta).filter(([each]) => each !== member));
      const { status, body } = await post(server[path], legacy('tools/list', { _meta }), { headers });
      assert.deepEqual([status, body.error.code], [400, -32602], member);
    }
    const { status, body } = await post(server[path], legacy('tools/list'), { headers });
    assert.deepEqual([status, body.error.code], [400, -32602]);
  });
}

/** The capabilities in the era in which clients can subscribe to the list of tools and to resources, or not. */
function announced(subscribe: boolean) {
  return {
    tools: { listChanged: subscribe },
    resources: { listChanged: false, subscribe },
    prompts: { listChanged: false },
    completions: {},
    logging: {},
    extensions: { 'io.modelcontextprotocol/ui': {} },
  };
}
