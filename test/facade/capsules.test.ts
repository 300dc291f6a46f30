import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { callsOf, makeKey, mustCall, rest } from '../support/calls.ts';
import { capsuleClients, ways } from '../support/capsules.ts';
import { pluck } from '../support/pluck.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { legacy, type Params, post } from './mcp-requests.ts';

const server = serverForTests();
const { must: admin } = callsOf(server);
const { make, ask, listed, call, endpoint } = capsuleClients(() => server);

describe('the endpoint of a capsule', () => {
  for (const way of ways) {
    it(`lists the tools of the capsule and calls them, and no other (${way.name})`, async () => {
      const capsule = await make({ allowedTools: ['*_skill', 'list_agents'], deniedTools: ['delete_*'] });
      const preview = await admin('preview_capsule', { id: capsule.id });
      const { status, body } = await ask(capsule, 'tools/list', {}, way);
      assert.equal(status, 200);
      assert.deepEqual(body.result.tools, preview.tools);
      assert.deepEqual((await call(capsule, 'list_agents', {}, way)).data, []);
      for (const name of ['delete_skill', 'list_skills', 'create_api_key', 'update_capsule', 'get_settings']) {
        const { code, error, issues } = await call(capsule, name, {}, way);
        assert.deepEqual([code, error], ['forbidden', 'Insufficient permissions'], name);
        assert.match(issues[0].message, /not among the tools of the capsule "test"/);
      }
      assert.equal((await call(capsule, 'no_such_tool', {}, way)).code, -32602);
    });
  }

  it('answers plain scripts, and GET with a health stub', async () => {
    const capsule = await make({ allowedTools: ['list_*'], deniedTools: ['list_agents'] });
    const { status, body } = await rest(server, 'GET', `/api/capsules/${capsule.id}/mcp`, { key: capsule.token });
    assert.equal(status, 200);
    assert.deepEqual([body.status, body.name, body.tools], ['ok', 'agent-admin', (await listed(capsule)).length]);
    assert.ok(body.protocolVersions.length >= 2);
    const events = await rest(server, 'GET', `/api/capsules/${capsule.id}/mcp`, {
      key: capsule.token,
      headers: { Accept: 'text/event-stream' },
    });
    assert.deepEqual([events.status, events.headers.get('allow')], [405, 'POST']);
    assert.equal((await rest(server, 'DELETE', `/api/capsules/${capsule.id}/mcp`, { key: capsule.token })).status, 405);
  });

  it('serves an SDK client', async () => {
    const capsule = await make();
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { Authorization: `Bearer ${capsule.token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint(capsule.id)), { requestInit }));
    const { tools } = await client.listTools();
    assert.deepEqual(pluck(tools, 'name'), ['list_agents']);
    assert.ok((await client.callTool({ name: 'list_agents', arguments: {} })).structuredContent);
    await client.close();
  });

  it('narrows and searches within the capsule alone', async () => {
    const capsule = await make({ allowedTools: ['list_agents', 'get_agent', 'list_skills'] });
    const at = async (query: string, method: string, params?: Params) => {
      const { body } = await post(`${endpoint(capsule.id)}${query}`, legacy(method, params), { token: capsule.token });
      return body;
    };
    const names = async (query: string) =>
      (await at(query, 'tools/list')).result?.tools.map(({ name }: { name: string }) => name);
    assert.deepEqual(await names('?groups=agents'), ['list_agents', 'get_agent']);
    assert.deepEqual(await names('?tools=list_*'), ['list_agents', 'list_skills']);
    for (const query of ['?groups=threads', '?tools=list_threads']) {
      const { error } = await at(query, 'tools/list');
      assert.equal(error.code, -32602);
      assert.ok(!/list_threads|Threads/.test(error.message), error.message);
    }
    assert.deepEqual(await names('?mode=search'), ['search_tools', 'describe_tool', 'call_tool']);
    const found = await at('', 'tools/call', { name: 'search_tools', arguments: { q: 'list threads skills' } });
    const hits = found.result.structuredContent.data.map(({ name }: { name: string }) => name);
    assert.ok(hits.length > 0 && hits.every((name: string) => /list_agents|get_agent|list_skills/.test(name)), hits);
    for (const name of ['describe_tool', 'call_tool']) {
      const refused = await at('', 'tools/call', { name, arguments: { name: 'list_threads' } });
      assert.equal(JSON.parse(refused.result.content[0].text).code, 'forbidden');
    }
  });

  it('guards Host and Origin, and takes no body that is too large', async () => {
    const { id, token } = await make();
    const foreign = await rest(server, 'POST', `/api/capsules/${id}/mcp`, {
      key: token,
      body: legacy('tools/list'),
      headers: { Origin: 'https://evil.example' },
    });
    assert.equal(foreign.status, 403);
    const large = await post(endpoint(id), `"${'x'.repeat(5 * 1024 * 1024)}"`, { token }).catch(() => undefined);
    assert.ok(!large || large.status === 413);
  });
});

describe('a change of a capsule', () => {
  it('counts from the next request on, in lists and calls alike', async () => {
    const capsule = await make({ allowedTools: ['list_agents', 'list_skills'] });
    const both = async (name: string) => [
      (await listed(capsule)).includes(name),
      'data' in (await call(capsule, name)),
    ];
    assert.deepEqual(await both('list_skills'), [true, true]);
    await admin('update_capsule', { id: capsule.id, deniedTools: ['list_sk*'] });
    assert.deepEqual(await both('list_skills'), [false, false]);
    await admin('update_capsule', { id: capsule.id, allowedTools: ['list_*'], deniedTools: [] });
    assert.deepEqual(await both('list_skills'), [true, true]);
    assert.deepEqual(await both('list_flows'), [true, true]);
  });

  it('of its status opens and closes it, and says so', async () => {
    const capsule = await make({ status: 'draft' });
    for (const status of ['draft', 'disabled', 'live', 'disabled'] as const) {
      await admin('update_capsule', { id: capsule.id, status });
      const { status: code, text } = await ask(capsule, 'tools/list');
      assert.equal(code, status === 'live' ? 200 : 403);
      if (status === 'live') continue;
      const { error, issues } = JSON.parse(text);
      assert.equal(error, 'Insufficient permissions');
      assert.match(issues[0].message, new RegExp(`This capsule is ${status}`));
    }
  });

  it('of the person it acts for closes it, and reactivation opens it', async () => {
    const person = await admin('create_admin_user', { email: 'maker@example.com', role: 'admin' });
    const cookie = await signIn(server, 'maker@example.com');
    const made = await rest(server, 'POST', '/api/capsules', {
      body: { name: 'theirs', allowedTools: ['list_agents'], status: 'live' },
      headers: { Cookie: cookie },
    });
    assert.equal(made.body.ownerId, person.id);
    assert.equal((await ask(made.body, 'tools/list')).status, 200);
    await admin('deactivate_admin_user', { id: person.id });
    const refused = await ask(made.body, 'tools/list');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /deactivated/);
    const health = async (key: string) => JSON.stringify(await mustCall(server, key, 'get_system_health'));
    assert.match(await health(server.adminKey), new RegExp(`${made.body.id} .{0,2}theirs.{0,2} of ${person.id}`));
    for (const rights of [{ scopes: ['read'] }, { scopes: ['admin', 'agents:read'], grants: ['system:*'] }]) {
      const reader = await health(await makeKey(server, rights));
      assert.ok(reader.includes('are deactivated: some') && !reader.includes(made.body.id));
    }
    await admin('reactivate_admin_user', { id: person.id });
    assert.equal((await ask(made.body, 'tools/list')).status, 200);
    assert.ok(!(await health(server.adminKey)).includes('are deactivated'));
  });
});

describe('fixed arguments', () => {
  it('hold for completion and prompts, which leave them out', async () => {
    const agent = await admin('create_agent', { name: 'completed', displayName: 'Completed' });
    const [one, other] = await Promise.all(
      ['prompt one', 'prompt other'].map((name) => admin('create_skill', { name, instructions: name })),
    );
    const capsule = await make({
      allowedTools: ['list_agents', 'get_agent', 'list_skills', 'get_skill'],
      constraints: { list_agents: { limit: 5 }, list_skills: { name: one.name } },
    });
    const ref = { type: 'ref/resource', uri: 'agent://{id}' };
    const { body } = await ask(capsule, 'completion/complete', { ref, argument: { name: 'id', value: 'completed' } });
    assert.deepEqual(body.result.completion.values, [agent.id]);
    const prompt = async (name: string) => (await ask(capsule, 'prompts/get', { name })).body;
    assert.equal((await prompt(one.name)).result.messages[0].content.text, 'prompt one');
    // What is fixed for the list holds for get_skill, by which prompts are read.
    for (const hidden of [other.name, other.id]) {
      assert.match((await prompt(hidden)).error.message, /Insufficient permissions/);
    }
  });

  for (const way of ways) {
    it(`are hidden from the list, in every call, and not the client’s to give (${way.name})`, async () => {
      const [one, other] = await Promise.all(
        ['one', 'other'].map((name) => admin('create_agent', { name: `${name} ${way.name}`, displayName: name })),
      );
      const capsule = await make({
        allowedTools: ['get_agent', 'create_skill'],
        constraints: { get_agent: { id: one.id }, create_skill: { instructions: 'fixed' } },
      });
      const { body } = await ask(capsule, 'tools/list', {}, way);
      const [getAgent, createSkill] = body.result.tools.map((tool: { inputSchema: object }) => tool.inputSchema);
      assert.deepEqual([getAgent.properties, getAgent.required], [{}, undefined]);
      assert.ok(!('instructions' in createSkill.properties));
      assert.deepEqual(createSkill.required, ['name']);
      assert.equal((await call(capsule, 'get_agent', {}, way)).id, one.id);
      for (const id of [one.id, other.id]) {
        const { code, issues } = await call(capsule, 'get_agent', { id }, way);
        assert.deepEqual([code, issues[0].path], ['invalid_input', 'id']);
      }
      assert.equal((await call(capsule, 'create_skill', { name: way.name }, way)).instructions, 'fixed');
      const proto = JSON.parse('{"name": "x", "__proto__": {"instructions": "own"}}');
      assert.equal((await call(capsule, 'create_skill', proto, way)).code, 'invalid_input');
    });
  }

  it('hold in what the tool calls, and for resources', async () => {
    const agent = await admin('create_agent', { name: 'paused one', displayName: 'P' });
    await admin('update_agent', { id: agent.id, status: 'paused' });
    const query = { tool: 'list_agents', arguments: {} };
    const report = await admin('create_report', { title: 'r', query });
    const capsule = await make({
      allowedTools: ['get_report', 'list_agents', 'get_agent'],
      constraints: { list_agents: { status: 'paused', limit: 5 } },
    });
    const { result } = await call(capsule, 'get_report', { id: report.id, render: true });
    assert.deepEqual(pluck(result.data, 'id'), [agent.id]);
    const { body } = await ask(capsule, 'resources/list');
    assert.deepEqual(pluck(body.result.resources, 'uri'), [`agent://${agent.id}`]);
  });

  it('make pages of resources short where they make those of the lists short', async () => {
    for (let count = 0; count < 70; count += 1) await admin('create_goal', { title: `goal ${count}` });
    const capsule = await make({ allowedTools: ['list_goals', 'get_goal'], constraints: { list_goals: { limit: 1 } } });
    const { result: first } = (await ask(capsule, 'resources/list')).body;
    assert.ok(first.resources.length < 70, `${first.resources.length} calls for one page`);
    const { result: second } = (await ask(capsule, 'resources/list', { cursor: first.nextCursor })).body;
    const uris = [...first.resources, ...second.resources].map(({ uri }: Params) => uri);
    assert.equal(new Set(uris).size, 70);
  });

  it('are listed once where a page of the list is fixed', async () => {
    for (const name of ['one', 'two', 'three']) await admin('create_goal', { title: name });
    const { nextCursor } = await admin('list_goals', { limit: 1 });
    const constraints = { list_goals: { limit: 1, cursor: nextCursor } };
    const capsule = await make({ allowedTools: ['list_goals', 'get_goal'], constraints });
    const { result } = (await ask(capsule, 'resources/list')).body;
    assert.deepEqual(pluck(result.resources, 'name'), ['two']);
    assert.equal(result.nextCursor, undefined);
  });
});
