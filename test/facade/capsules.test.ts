import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { makeCapsule, makeKey, mustCall, rest } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { openStdio } from '../support/stdio.ts';
import { eventsIn, inEra, legacy, modern, modernHeaders, type Params, post } from './mcp-requests.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

interface Capsule {
  readonly id: string;
  readonly token: string;
}

const admin = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);
const make = (input: object = {}): Promise<Capsule> => makeCapsule(server, { allowedTools: ['list_agents'], ...input });
const endpoint = (id: string) => `${server.baseUrl}/api/capsules/${id}/mcp`;

const EVENTS = { Accept: 'application/json, text/event-stream' };
/** A member of `_meta` that no plain message has, so that the SDK answers. */
const UNUSUAL = { 'example.com/unusual': true };

/** Both eras at the direct path, and both at that of the SDK. */
const ways = (['legacy', 'modern'] as const).flatMap((era) => [
  { era, name: `${era}, direct path`, odd: false },
  { era, name: `${era}, SDK path`, odd: true },
]);
type Way = (typeof ways)[number];
const plain: Way = { era: 'legacy', name: '', odd: false };

function ask({ id, token }: Capsule, method: string, params: Params = {}, { era, odd } = plain) {
  const { message, headers } = inEra(era, method, params);
  const { _meta = {} } = (message.params ?? {}) as { _meta?: object };
  const unusual = { ...message, params: { ...message.params, _meta: { ..._meta, ...UNUSUAL } } };
  return post(endpoint(id), odd ? unusual : message, { token, headers });
}

async function listed(capsule: Capsule, way?: Way): Promise<string[]> {
  const { body } = await ask(capsule, 'tools/list', {}, way);
  return body.result.tools.map(({ name }: { name: string }) => name);
}

/** The error of a call, or what it gave. */
async function call(capsule: Capsule, name: string, input: Params = {}, way?: Way) {
  const { body } = await ask(capsule, 'tools/call', { name, arguments: input }, way);
  if (!body.result) return body.error;
  return body.result.isError ? JSON.parse(body.result.content[0].text) : body.result.structuredContent;
}

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
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['list_agents'],
    );
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

describe('who comes to the endpoint of a capsule', () => {
  const codes = async (url: string, token: string | undefined) => {
    const answers = await Promise.all(
      (['tools/list', 'tools/call', 'initialize', 'resources/list'] as const).map((method) =>
        rest({ baseUrl: '' }, 'POST', url, { key: token, body: legacy(method, { name: 'list_agents' }) }),
      ),
    );
    return [...new Set(answers.map(({ status }) => status))];
  };

  it('with no token, one that was never given, or one that is nearly right, gets 401 before anything else', async () => {
    const { id, token } = await make();
    const wrong = [
      undefined,
      'nonsense',
      `cpt_${'x'.repeat(8)}_${'y'.repeat(43)}`,
      `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`,
      `${token}x`,
      token.replace('cpt_', 'ak_'),
      token.toLowerCase(),
      `Bearer ${token}`,
    ];
    for (const each of wrong) {
      for (const at of [id, 'cap_none', '%00', '..%2F..']) assert.deepEqual(await codes(endpoint(at), each), [401]);
    }
    const { status, headers, body } = await rest(server, 'POST', `/api/capsules/${id}/mcp`);
    assert.deepEqual([status, headers.get('www-authenticate'), body.error], [401, 'Bearer', 'Authentication required']);
  });

  it('with an API key, even one with full access, is refused', async () => {
    const { id } = await make();
    assert.deepEqual(await codes(endpoint(id), server.adminKey), [403]);
    assert.deepEqual(await codes(endpoint('cap_none'), server.adminKey), [403]);
    assert.equal((await rest(server, 'GET', `/api/capsules/${id}/mcp`, { key: server.adminKey })).status, 403);
  });

  it('with the cookie of a session is refused', async () => {
    const { id } = await make();
    const [, jar] = await signedIn();
    const { status, body } = await rest(server, 'POST', `/api/capsules/${id}/mcp`, {
      body: legacy('tools/list'),
      headers: { Cookie: jar },
    });
    assert.deepEqual([status, body.issues[0].message], [403, 'This endpoint takes the token of its capsule.']);
  });

  it('is refused by absolute and odd forms of the path all the same', async () => {
    const { id, token } = await make();
    const other = await make();
    for (const path of [
      `/api/capsules/${other.id}/mcp?x=${id}`,
      `/api/capsules/${encodeURIComponent(other.id)}/mcp`,
      `/api/capsules/${other.id.replace('cap', '%63ap')}/mcp`,
      `/api//capsules/${other.id}/mcp`,
      `/api/capsules/${other.id}/mcp/`,
    ]) {
      const { status } = await rest(server, 'POST', path, { key: token, body: legacy('tools/list') });
      assert.ok(status === 403 || status === 404, `${path}: ${status}`);
    }
  });

  async function signedIn(): Promise<[number, string]> {
    const { idToken } = await admin('create_sign_in_link', { email: 'admin@localhost' });
    const { status, headers } = await rest(server, 'POST', '/api/v1/auth/session', { body: { idToken } });
    return [status, headers.get('set-cookie')?.split(';')[0] ?? ''];
  }
});

describe('the token of a capsule', () => {
  it('opens nothing but its own endpoint: no other capsule, no REST, not the unified endpoint, no stdio', async () => {
    const [mine, other] = [await make({ allowedTools: ['*'] }), await make({ allowedTools: ['*'] })];
    const refused = await post(endpoint(other.id), legacy('tools/list'), { token: mine.token });
    const nowhere = await post(endpoint('cap_none'), legacy('tools/list'), { token: mine.token });
    assert.deepEqual([refused.status, nowhere.status], [403, 403]);
    const text = (answer: { text: string }) => answer.text.replace(/"requestId":"[^"]+"/, '');
    assert.equal(text(refused), text(nowhere), 'it does not tell which capsules there are');
    for (const [method, path] of [
      ['GET', '/api/v1/agents'],
      ['POST', '/api/v1/agents'],
      ['GET', '/api/v1/mcp'],
      ['POST', '/api/v1/mcp'],
      ['GET', '/api/v1/openapi'],
      ['GET', '/api/v1/auth/session'],
      ['DELETE', '/api/v1/auth/session'],
      ['GET', '/api/capsules'],
      ['GET', `/api/capsules/${mine.id}`],
      ['PATCH', `/api/capsules/${mine.id}`],
      ['POST', `/api/capsules/${mine.id}/rotate-token`],
      ['GET', '/api/v1/nothing'],
    ] as const) {
      const body = method === 'GET' ? undefined : legacy('tools/list');
      const { status } = await rest(server, method, path, { key: mine.token, body });
      assert.equal(status, 403, `${method} ${path}`);
    }
    const stdio = openStdio(server.baseUrl, mine.token);
    const answer = await stdio.ask('tools/list');
    assert.match(answer.error.message, /Insufficient permissions/);
    await stdio.end();
  });

  it('opens its own endpoint by no other door’s name', async () => {
    const { id, token } = await make();
    await post(endpoint(id), legacy('tools/call', { name: 'list_agents' }), {
      token,
      headers: { 'X-Agent-Admin-Door': 'dashboard', 'X-Request-Id': 'named-door' },
    });
    const entry = await entryOf('named-door');
    assert.deepEqual([entry.door, entry.principal.type, entry.principal.id], ['capsule', 'capsule', id]);
  });

  it('is dead at once when it is rotated, and the new one works', async () => {
    const old = await make();
    assert.deepEqual(await listed(old), ['list_agents']);
    const { token } = await admin('rotate_capsule_token', { id: old.id });
    assert.equal((await ask(old, 'tools/list')).status, 401);
    assert.deepEqual(await listed({ ...old, token }), ['list_agents']);
  });

  it('works for the grace that a rotation gives, and not a moment longer', async () => {
    const first = await make();
    const second = await admin('rotate_capsule_token', { id: first.id, graceSeconds: 2 });
    const third = await admin('rotate_capsule_token', { id: first.id, graceSeconds: 600 });
    for (const { token } of [first, second, third])
      assert.deepEqual(await listed({ id: first.id, token }), ['list_agents']);
    await delay(2100);
    assert.equal((await ask(first, 'tools/list')).status, 401);
    assert.equal((await ask(second, 'tools/list')).status, 200);
    await admin('rotate_capsule_token', { id: first.id });
    for (const { token } of [second, third]) assert.equal((await ask({ ...first, token }, 'tools/list')).status, 401);
  });

  it('expires with the capsule', async () => {
    const capsule = await make({ expiresAt: new Date(Date.now() + 1000).toISOString() });
    assert.equal((await ask(capsule, 'tools/list')).status, 200);
    await delay(1100);
    assert.equal((await ask(capsule, 'tools/list')).status, 401);
    await admin('update_capsule', { id: capsule.id, expiresAt: null });
    assert.equal((await ask(capsule, 'tools/list')).status, 200);
  });

  it('is good for nothing once the capsule is deleted', async () => {
    const capsule = await make();
    await admin('delete_capsule', { id: capsule.id });
    assert.equal((await ask(capsule, 'tools/list')).status, 401);
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
    const { idToken } = await admin('create_sign_in_link', { email: 'maker@example.com' });
    const { headers } = await rest(server, 'POST', '/api/v1/auth/session', { body: { idToken } });
    const jar = headers.get('set-cookie')?.split(';')[0] ?? '';
    const made = await rest(server, 'POST', '/api/capsules', {
      body: { name: 'theirs', allowedTools: ['list_agents'], status: 'live' },
      headers: { Cookie: jar },
    });
    assert.equal(made.body.ownerId, person.id);
    assert.equal((await ask(made.body, 'tools/list')).status, 200);
    await admin('deactivate_admin_user', { id: person.id });
    const refused = await ask(made.body, 'tools/list');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /deactivated/);
    const health = async (key: string) => JSON.stringify(await mustCall(server, key, 'get_system_health'));
    assert.match(await health(server.adminKey), new RegExp(`${made.body.id} .{0,2}theirs.{0,2} of ${person.id}`));
    const reader = await health(await makeKey(server, { scopes: ['read'] }));
    assert.ok(reader.includes('nobody gets in: some') && !reader.includes(made.body.id));
    await admin('reactivate_admin_user', { id: person.id });
    assert.equal((await ask(made.body, 'tools/list')).status, 200);
    assert.ok(!(await health(server.adminKey)).includes('nobody gets in'));
  });
});

describe('fixed arguments', () => {
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
    assert.deepEqual(
      result.data.map(({ id }: { id: string }) => id),
      [agent.id],
    );
    const { body } = await ask(capsule, 'resources/list');
    assert.deepEqual(
      body.result.resources.map(({ uri }: { uri: string }) => uri),
      [`agent://${agent.id}`],
    );
  });
});

describe('two capsules', () => {
  it('see what the tools of each show, in resources, prompts, search and versions too', async () => {
    const marker = 'zanzibar';
    const agent = await admin('create_agent', { name: `agent ${marker}`, displayName: marker });
    const skill = await admin('create_skill', { name: `skill ${marker}`, instructions: 'Do it.' });
    const ofAgent = { entityType: 'agent', entityId: agent.id };
    await admin('create_capsule', { name: `capsule ${marker}` });
    const shared = ['search', 'list_versions'];
    const agents = await make({ allowedTools: ['list_agents', 'get_agent', ...shared] });
    const skills = await make({ allowedTools: ['list_skills', 'get_skill', ...shared] });
    const none = await make({ allowedTools: shared });
    for (const way of ways) {
      const seen = async (capsule: Capsule) => {
        const { data } = await call(capsule, 'search', { q: marker }, way);
        const prompts = (await ask(capsule, 'prompts/list', {}, way)).body.result.prompts;
        const templates = (await ask(capsule, 'resources/templates/list', {}, way)).body.result.resourceTemplates;
        return {
          found: data.map(({ type }: { type: string }) => type),
          prompts: prompts.some(({ name }: { name: string }) => name === skill.name),
          templates: templates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate),
          agent: await reads(capsule, `agent://${agent.id}`, way),
          skill: await reads(capsule, `skill://${skill.id}`, way),
          versionsOfAgent: 'data' in (await call(capsule, 'list_versions', ofAgent, way)),
        };
      };
      assert.deepEqual(await seen(agents), {
        found: ['agent'],
        prompts: false,
        templates: ['agent://{id}'],
        agent: true,
        skill: false,
        versionsOfAgent: true,
      });
      assert.deepEqual(await seen(skills), {
        found: ['skill'],
        prompts: true,
        templates: ['skill://{id}'],
        agent: false,
        skill: true,
        versionsOfAgent: false,
      });
      assert.deepEqual(await seen(none).then(({ found, agent, skill }) => [found, agent, skill]), [[], false, false]);
    }
    async function reads(capsule: Capsule, uri: string, way: Way): Promise<boolean> {
      return 'result' in (await ask(capsule, 'resources/read', { uri }, way)).body;
    }
  });

  it('have threads of their own: one restricted to a capsule does not exist for the other', async () => {
    const allowedTools = ['create_thread', 'get_thread', 'list_threads', 'list_messages', 'get_thread_stats', 'search'];
    const [one, other] = [await make({ allowedTools }), await make({ allowedTools })];
    const messages = [{ role: 'user', content: 'quokka' }];
    const { id } = await call(one, 'create_thread', { title: 'quokka', visibility: 'restricted', messages });
    assert.equal((await call(one, 'get_thread', { id })).id, id);
    assert.equal((await call(other, 'get_thread', { id })).code, 'not_found');
    for (const [capsule, count] of [
      [one, 1],
      [other, 0],
    ] as const) {
      const { data } = await call(capsule, 'list_threads');
      assert.equal(data.filter((thread: { id: string }) => thread.id === id).length, count);
      assert.equal((await call(capsule, 'search', { q: 'quokka' })).data.length, 2 * count);
    }
  });

  it('replay no answer of the other, cancel no call of it and keep their own idempotency keys', async () => {
    const allowedTools = ['create_skill'];
    const [one, other] = [await make({ allowedTools }), await make({ allowedTools })];
    const create = async (capsule: Capsule, name: string) => {
      const params = { name: 'create_skill', arguments: { name }, _meta: { idempotencyKey: 'same' } };
      return (await post(endpoint(capsule.id), legacy('tools/call', params), { token: capsule.token })).body.result;
    };
    const first = (await create(one, 'first skill')).structuredContent;
    const second = (await create(other, 'second skill')).structuredContent;
    assert.notEqual(first.id, second.id);
    assert.deepEqual((await create(one, 'first skill')).structuredContent, first);
  });

  it('cannot be managed from within, whatever they are allowed', async () => {
    const victim = await make();
    const capsule = await make({ allowedTools: ['*', 'purge_record', 'list_audit_entries'] });
    const names = await listed(capsule);
    assert.ok(!names.some((name) => /capsule|api_key|admin_user|sign_in|session|integration/.test(name)), `${names}`);
    const purge = await call(capsule, 'purge_record', { entityType: 'capsule', id: victim.id });
    assert.equal(purge.code, 'forbidden');
    for (const [tool, input] of [
      ['update_capsule', { id: victim.id, status: 'disabled' }],
      ['rotate_capsule_token', { id: victim.id }],
      ['create_api_key', { name: 'x', scopes: ['read'] }],
    ] as const) {
      assert.equal((await call(capsule, tool, input)).code, 'forbidden');
    }
    assert.equal((await ask(victim, 'tools/list')).status, 200);
  });

  it('make no flow, report or agent that reaches more than they do', async () => {
    const allowedTools = ['create_flow', 'create_report', 'create_agent', 'list_agents', 'restore_version'];
    const capsule = await make({ allowedTools });
    const steps = (tool: string) => ({ name: 'f', steps: [{ id: 'one', tool, arguments: {} }] });
    assert.equal((await call(capsule, 'create_flow', steps('list_agents'))).runAs.id, capsule.id);
    assert.equal((await call(capsule, 'create_flow', steps('list_skills'))).code, 'forbidden');
    const query = { tool: 'list_skills', arguments: {} };
    assert.equal((await call(capsule, 'create_report', { title: 'r', query })).code, 'forbidden');
    for (const entry of ['list_skills', '*', 'create_api_key']) {
      const { code } = await call(capsule, 'create_agent', { name: 'a', displayName: 'A', tools: [entry] });
      assert.equal(code, 'forbidden', entry);
    }
  });
});

describe('callsPerMinute', () => {
  it('refuses calls beyond it with 429 and Retry-After, and nothing else', async () => {
    const [capsule, other] = [await make({ callsPerMinute: 2 }), await make({ callsPerMinute: 2 })];
    for (let n = 0; n < 2; n += 1) assert.ok('data' in (await call(capsule, 'list_agents')));
    const { status, headers, text } = await ask(capsule, 'tools/call', { name: 'list_agents', arguments: {} });
    assert.equal(status, 429);
    const seconds = Number(headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 60);
    assert.equal(JSON.parse(text).code, 'rate_limited');
    assert.equal((await ask(capsule, 'resources/list')).status, 429);
    for (const method of ['tools/list', 'initialize', 'ping']) assert.equal((await ask(capsule, method)).status, 200);
    assert.ok('data' in (await call(other, 'list_agents')));
    await admin('update_capsule', { id: capsule.id, callsPerMinute: null });
    assert.ok('data' in (await call(capsule, 'list_agents')));
  });
});

async function entryOf(requestId: string) {
  await server.store.audit.flush();
  const { data } = await admin('list_audit_entries', { limit: 100 });
  return data.find((entry: { requestId: string }) => entry.requestId === requestId);
}

describe('what a capsule does', () => {
  it('is audited with the capsule, refused calls too, and so are those who come to the wrong door', async () => {
    const [capsule, other] = [await make(), await make()];
    const send = (token: string, url: string, id: string, tool: string) =>
      post(url, legacy('tools/call', { name: tool }), { token, headers: { 'X-Request-Id': id } });
    await send(capsule.token, endpoint(capsule.id), 'ok', 'list_agents');
    await send(capsule.token, endpoint(capsule.id), 'refused', 'list_skills');
    await send(capsule.token, endpoint(other.id), 'elsewhere', 'list_agents');
    await send(capsule.token, `${server.baseUrl}/api/v1/mcp`, 'unified', 'list_agents');
    await send(server.adminKey, endpoint(capsule.id), 'key', 'list_agents');
    const seen = await Promise.all(
      ['ok', 'refused', 'elsewhere', 'unified', 'key'].map(async (id) => {
        const { door, principal, tool, outcome, arguments: args } = await entryOf(id);
        return [door, principal.type, tool, outcome, args.capsuleId];
      }),
    );
    assert.deepEqual(seen, [
      ['capsule', 'capsule', 'list_agents', 'ok', undefined],
      ['capsule', 'capsule', 'list_skills', 'denied', undefined],
      ['capsule', 'capsule', 'authenticate', 'denied', other.id],
      ['capsule', 'capsule', 'authenticate', 'denied', undefined],
      ['capsule', 'api-key', 'authenticate', 'denied', capsule.id],
    ]);
    const { data } = await admin('list_audit_entries', { principal: capsule.id, limit: 10 });
    assert.ok(data.length >= 4);
  });

  it('is counted, also over a restart', () =>
    withFolder(async (folder) => {
      const key = `ak_capsules_${'k'.repeat(43)}`;
      const env = { BOOTSTRAP_API_KEY: key };
      const first = await startProcess(folder, env);
      const { id, token } = await makeCapsule(
        { baseUrl: first.baseUrl, adminKey: key },
        { allowedTools: ['list_agents'] },
      );
      const calls = (baseUrl: string, count: number) =>
        Promise.all(
          Array.from({ length: count }, () =>
            post(`${baseUrl}/api/capsules/${id}/mcp`, legacy('tools/call', { name: 'list_agents' }), { token }),
          ),
        );
      await calls(first.baseUrl, 7);
      await first.stop('SIGTERM');
      const second = await startProcess(folder, env);
      await calls(second.baseUrl, 3);
      await delay(1500);
      const capsule = await mustCall(second, key, 'get_capsule', { id });
      assert.equal(capsule.callCount, 10);
      assert.ok(Date.now() - Date.parse(capsule.lastUsedAt) < 10_000);
      assert.equal(capsule.revision, 1);
      await second.stop('SIGTERM');
    }));
});

describe('subscribers of a capsule', () => {
  async function listen({ id, token }: Capsule) {
    const controller = new AbortController();
    const message = modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, {}, 'sub');
    const headers = { ...EVENTS, ...modernHeaders('subscriptions/listen') };
    const answer = post(endpoint(id), message, { token, headers, signal: controller.signal });
    await delay(150);
    return { ended: answer.then(({ text }) => eventsIn(text).map(({ method }) => method)) };
  }
  const CHANGED = 'notifications/tools/list_changed';

  it('hear of changes of its list, those of others do not, and disabling ends their streams', async () => {
    const [one, other] = [await make(), await make()];
    const [mine, theirs] = [await listen(one), await listen(other)];
    await admin('update_capsule', { id: one.id, allowedTools: ['list_agents', 'list_skills'] });
    await delay(1500);
    await admin('update_capsule', { id: one.id, name: 'renamed' });
    await delay(1500);
    await admin('update_capsule', { id: one.id, status: 'disabled' });
    await admin('update_capsule', { id: other.id, status: 'draft' });
    const heard = await Promise.all([mine.ended, theirs.ended]);
    assert.deepEqual(
      heard.map((methods) => methods.filter((method) => method === CHANGED).length),
      [1, 0],
    );
  });

  it('are cut off by rotation, deletion, expiry and the end of the person it acts for', async () => {
    const expiring = await make({ expiresAt: new Date(Date.now() + 1000).toISOString() });
    const [rotated, deleted] = [await make(), await make()];
    const streams = await Promise.all([expiring, rotated, deleted].map(listen));
    await admin('rotate_capsule_token', { id: rotated.id });
    await admin('delete_capsule', { id: deleted.id });
    const late = delay(3500).then(() => 'late');
    for (const { ended } of streams) assert.notEqual(await Promise.race([ended, late]), 'late');
  });
});

describe('a key limited to reading one agent', () => {
  it('that may also make capsules makes none that reads all of them', async () => {
    const key = await makeKey(server, { grants: ['capsule:write', 'agent:read:agt_one'] });
    const { status } = await rest(server, 'POST', '/api/capsules', {
      key,
      body: { name: 'x', allowedTools: ['get_agent'] },
    });
    assert.equal(status, 403);
  });
});
