import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { type Capsule, capsuleClients, type Way, ways } from '../support/capsules.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { openStdio } from '../support/stdio.ts';
import { legacy, post } from './mcp-requests.ts';

const server = serverForTests();
const { must: admin } = callsOf(server);
const { make, ask, listed, call, endpoint, entryOf } = capsuleClients(() => server);

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
    assert.deepEqual([status, body.error], [401, 'Authentication required']);
    assert.match(headers.get('www-authenticate') ?? '', /^Bearer resource_metadata="/);
    const given = await rest(server, 'POST', `/api/capsules/${id}/mcp`, { key: `${token}x` });
    assert.match(given.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token", resource_metadata="/);
  });

  it('with an API key, even one with full access, is refused', async () => {
    const { id } = await make();
    assert.deepEqual(await codes(endpoint(id), server.adminKey), [403]);
    assert.deepEqual(await codes(endpoint('cap_none'), server.adminKey), [403]);
    assert.equal((await rest(server, 'GET', `/api/capsules/${id}/mcp`, { key: server.adminKey })).status, 403);
  });

  it('with the cookie of a session is refused', async () => {
    const { id } = await make();
    const { status, body } = await rest(server, 'POST', `/api/capsules/${id}/mcp`, {
      body: legacy('tools/list'),
      headers: { Cookie: await signIn(server) },
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
    for (const key of [token, server.adminKey]) {
      const absolute = request(`${server.baseUrl}`, {
        method: 'POST',
        path: endpoint(other.id),
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      });
      absolute.end(JSON.stringify(legacy('tools/list')));
      const [{ statusCode }] = await once(absolute, 'response');
      assert.equal(statusCode, 403);
    }
  });
});

describe('the token of a capsule', () => {
  it('opens nothing but its own endpoint: no other capsule, no REST, not the unified endpoint, also over stdio', async () => {
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
    await assert.rejects(openStdio(server.baseUrl, mine.token).ask('tools/list'), /is the token of a capsule/);
    const stdio = openStdio(endpoint(other.id), mine.token);
    const answer = await stdio.ask('tools/list');
    assert.match(answer.error.message, /Insufficient permissions/);
    await stdio.end();
  });

  it('reaches in the form of OpenAI what its tools reach, and is told the same of another capsule', async () => {
    const { id, token } = await make({ allowedTools: ['list_agents'] });
    const models = await rest(server, 'GET', '/api/v1/openai/models', { key: token });
    assert.equal(models.status, 200);
    assert.deepEqual(models.body.data, [], 'it may invoke none');
    const body = { model: 'ada', messages: [{ role: 'user', content: 'Hi' }] };
    const chat = await rest(server, 'POST', '/api/v1/openai/chat/completions', { key: token, body });
    assert.equal(chat.status, 403);
    await admin('update_capsule', { id, status: 'disabled' });
    assert.equal((await rest(server, 'GET', '/api/v1/openai/models', { key: token })).status, 403);
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
    const second = await admin('rotate_capsule_token', { id: first.id, graceSeconds: 60 });
    const third = await admin('rotate_capsule_token', { id: first.id, graceSeconds: 600 });
    for (const { token } of [first, second, third])
      assert.deepEqual(await listed({ id: first.id, token }), ['list_agents']);
    server.clock.pass(60_000);
    assert.equal((await ask(first, 'tools/list')).status, 401);
    assert.equal((await ask(second, 'tools/list')).status, 200);
    await admin('rotate_capsule_token', { id: first.id });
    for (const { token } of [second, third]) assert.equal((await ask({ ...first, token }, 'tools/list')).status, 401);
  });

  it('ends before its grace is over where update_capsule is told so, and the newest one goes on', async () => {
    const first = await make();
    const { token, earlierTokens } = await admin('rotate_capsule_token', { id: first.id, graceSeconds: 600 });
    assert.equal(earlierTokens.length, 1);
    await admin('update_capsule', { id: first.id, description: 'changed' });
    assert.deepEqual(await listed(first), ['list_agents'], 'another change ends nothing');
    const updated = await admin('update_capsule', { id: first.id, endEarlierTokens: true });
    assert.equal(updated.earlierTokens, undefined);
    assert.equal((await ask(first, 'tools/list')).status, 401);
    assert.deepEqual(await listed({ id: first.id, token }), ['list_agents']);
  });

  it('expires with the capsule', async () => {
    const capsule = await make({ expiresAt: server.clock.in(60_000) });
    assert.equal((await ask(capsule, 'tools/list')).status, 200);
    server.clock.pass(60_000);
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

it('a key limited to reading one agent that may also make capsules makes none that reads all of them', async () => {
  const key = await makeKey(server, { grants: ['capsule:write', 'agent:read:agt_one'] });
  const { status } = await rest(server, 'POST', '/api/capsules', {
    key,
    body: { name: 'x', allowedTools: ['get_agent'] },
  });
  assert.equal(status, 403);
});
