import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { callTool, makeKey, mustCall, rest } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const THREE = ['search_tools', 'describe_tool', 'call_tool'];

const server = await startTestServer();
const reader = await makeKey(server, { scopes: ['read'] });

async function listed(query: string, key = server.adminKey) {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  return (await rest(server, 'POST', `/api/v1/mcp${query}`, { key, body })).body;
}
const namesIn = (body: { result: { tools: { name: string }[] } }) => body.result.tools.map(({ name }) => name);

async function lastEntry(tool: string) {
  const { data } = await mustCall(server, server.adminKey, 'list_audit_entries', { tool, limit: 1 });
  return data[0];
}

describe('?mode=search', () => {
  it('shows three tools in the place of all others, which are in no other list', async () => {
    assert.deepEqual(namesIn(await listed('?mode=search')), THREE);
    assert.deepEqual(namesIn(await listed('?mode=search', reader)), THREE);
    const all = namesIn(await listed(''));
    assert.ok(all.length > 100 && !all.some((name) => THREE.includes(name)));
  });

  it('is refused beside a narrowing, and any other mode by name', async () => {
    for (const query of ['?mode=search&tools=get_*', '?groups=skills&mode=search']) {
      assert.match((await listed(query)).error.message, /leave out tools= and groups=/);
    }
    assert.match((await listed('?mode=seach')).error.message, /mode= in the URL is search/);
    for (const method of ['tools/list', 'tools/call', 'ping']) {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method,
        ...(method === 'tools/call' && { params: { name: 'list_agents' } }),
      };
      const answer = await rest(server, 'POST', '/api/v1/mcp?mode=AAA', { key: server.adminKey, body });
      assert.deepEqual([answer.status, answer.body.error.code], [400, -32602], method);
      assert.match(answer.body.error.message, /mode= in the URL is search/);
    }
  });

  it('serves clients of both lines, from finding a tool to calling it', async () => {
    const url = new URL(`${server.baseUrl}/api/v1/mcp?mode=search`);
    const requestInit = { headers: { Authorization: `Bearer ${server.adminKey}` } };
    const current = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await current.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    const old = new OldClient({ name: 'test', version: '1' });
    // The old line declares a member as optional that its own interface requires.
    await old.connect(new OldTransport(url, { requestInit }) as Parameters<OldClient['connect']>[0]);
    for (const [at, client] of [current, old].entries()) {
      assert.equal((await client.listTools()).tools.length, 3);
      const found = await client.callTool({ name: 'search_tools', arguments: { q: 'make a new skill' } });
      const { data } = found.structuredContent as { data: { name: string }[] };
      assert.ok(data.some(({ name }) => name === 'create_skill'));
      const input = { name: 'create_skill', arguments: { name: `found ${at}`, instructions: 'x' } };
      const made = await client.callTool({ name: 'call_tool', arguments: input });
      assert.equal((made.structuredContent as { name: string }).name, `found ${at}`);
      await client.close();
    }
  });
});

describe('search_tools', () => {
  const find = async (q: string, key = server.adminKey) => mustCall(server, key, 'search_tools', { q });
  const first = async (q: string, key?: string) => (await find(q, key)).data[0]?.name;

  it('finds tools by their names and by what they do, whatever the number, case and spelling', async () => {
    assert.equal(await first('create agent'), 'create_agent');
    assert.equal(await first('list_threads'), 'list_threads');
    assert.equal(await first('AGENTS list'), 'list_agents');
    assert.equal(await first('creat skil'), 'create_skill');
    const names = (await find('churn')).data.map(({ name }: { name: string }) => name);
    assert.ok(names.includes('get_churn'), String(names));
  });

  it('shows only what the caller may call', async () => {
    const { data } = await find('create agent', reader);
    assert.ok(data.length > 0 && data.every(({ readOnly }: { readOnly: boolean }) => readOnly));
  });

  it('says that a tool fits better which the caller may not call, to whom no list of tools is set', async () => {
    assert.deepEqual((await find('create an agent', reader)).beyond, ['create_agent']);
    assert.equal((await find('create an agent')).beyond, undefined);
    assert.equal((await find('list agents', reader)).beyond, undefined);
    const told = await callTool(server, reader, 'describe_tool', { name: 'create_agent' });
    assert.equal('error' in told && told.error.required?.scope, 'agents:write');
    const definition = { name: 'narrow', status: 'live', allowedTools: ['list_agents'] };
    const { id, token } = await mustCall(server, server.adminKey, 'create_capsule', definition);
    const call = { name: 'search_tools', arguments: { q: 'create an agent' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
    const answer = await rest(server, 'POST', `/api/capsules/${id}/mcp?mode=search`, { key: token, body });
    const { structuredContent } = answer.body.result;
    assert.deepEqual(
      [structuredContent.data.map(({ name }: { name: string }) => name), structuredContent.beyond],
      [['list_agents'], undefined],
    );
  });

  it('names the groups where nothing is found', async () => {
    const { data, groups } = await find('zzzzqqqq');
    assert.deepEqual(data, []);
    assert.ok(groups.includes('Agents') && groups.includes('Threads'));
  });
});

describe('describe_tool', () => {
  it('gives the whole schema of the arguments, with the limits that lists leave out, and that of the answer where asked', async () => {
    const describe = (input: object) => mustCall(server, server.adminKey, 'describe_tool', input);
    const { inputSchema, ...short } = await describe({ name: 'create_agent' });
    assert.equal(inputSchema.properties.name.maxLength, 120);
    assert.ok(!('outputSchema' in short));
    const { outputSchema } = await describe({ name: 'create_agent', output: true });
    assert.equal(outputSchema.type, 'object');
  });

  it('names the missing right for a tool beyond the caller, and similar names for none', async () => {
    const beyond = await callTool(server, reader, 'describe_tool', { name: 'create_agent' });
    assert.ok('error' in beyond);
    assert.equal(beyond.error.code, 'forbidden');
    assert.deepEqual(beyond.error.required, { scope: 'agents:write', grant: 'agent:write' });
    const none = await callTool(server, server.adminKey, 'describe_tool', { name: 'creat_agent' });
    assert.match('error' in none ? none.error.error : '', /create_agent/);
  });
});

describe('call_tool', () => {
  it('is the call of the tool it names: its answer, its audit entry, none of its own', async () => {
    const input = { name: 'create_skill', arguments: { name: 'inner', instructions: 'x' } };
    const { id } = await mustCall(server, server.adminKey, 'call_tool', input);
    const entry = await lastEntry('create_skill');
    assert.deepEqual([entry.outcome, entry.recordIds, entry.arguments.name], ['ok', [id], 'inner']);
    assert.equal(await lastEntry('call_tool'), undefined);
  });

  it('needs the rights of the tool it names', async () => {
    const input = { name: 'create_skill', arguments: { name: 'never', instructions: 'x' } };
    const answer = await callTool(server, reader, 'call_tool', input);
    assert.ok('error' in answer);
    assert.deepEqual([answer.error.code, answer.error.required?.scope], ['forbidden', 'skills:write']);
    const entry = await lastEntry('create_skill');
    assert.deepEqual([entry.outcome, entry.code], ['denied', 'forbidden']);
  });

  it('reports bad arguments as the tool itself would, and a call without a name', async () => {
    const input = { name: 'create_skill', arguments: { nme: 'x' } };
    const bad = await callTool(server, server.adminKey, 'call_tool', input);
    const direct = await callTool(server, server.adminKey, 'create_skill', { nme: 'x' });
    assert.ok('error' in bad && 'error' in direct);
    assert.deepEqual({ ...bad.error, requestId: '' }, { ...direct.error, requestId: '' });
    const none = await callTool(server, server.adminKey, 'call_tool', { tool: 'create_skill' });
    assert.equal('error' in none && none.error.code, 'invalid_input');
    const unknown = await callTool(server, server.adminKey, 'call_tool', { name: 'creat_skill' });
    assert.match('error' in unknown ? unknown.error.error : '', /create_skill/);
  });

  it('reaches no tool that lists do not know', async () => {
    const answer = await callTool(server, server.adminKey, 'call_tool', { name: 'get_mcp_status' });
    assert.equal('error' in answer && answer.error.code, 'not_found');
  });

  it('repeats the answer under one idempotency key, the same one as the direct call', async () => {
    const input = { name: 'repeated', instructions: 'x' };
    const meta = { idempotencyKey: 'one' };
    const first = await callTool(
      server,
      server.adminKey,
      'call_tool',
      { name: 'create_skill', arguments: input },
      meta,
    );
    assert.deepEqual(await callTool(server, server.adminKey, 'create_skill', input, meta), first);
  });

  it('keeps no secret for a repeat', async () => {
    const input = { name: 'create_api_key', arguments: { name: 'k', scopes: ['read'] } };
    const meta = { idempotencyKey: 'two' };
    const first = await callTool(server, server.adminKey, 'call_tool', input, meta);
    assert.ok('output' in first && typeof first.output.secret === 'string');
    const again = await callTool(server, server.adminKey, 'call_tool', input, meta);
    assert.equal('error' in again && again.error.code, 'conflict');
  });
});
