import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { briefSchema } from '../../tools/core/registry/json-schema.ts';
import { callTool, makeKey, mustCall, rest } from '../support/calls.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const NAME = 'Ada / L. 100%';

type Input = Record<string, unknown>;
type Make = (agent: string) => Input | Promise<Input>;

let server: TestServer;
let id = '';
const must = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);
const made = async (tool: string, input: object) => (await must(tool, input)).id as string;
const thread = (agentIds: string[] = []) => made('create_thread', { title: 'T', agentIds });
const flow = () => made('create_flow', { name: 'f' });
const memory = () => made('create_memory', { content: 'x' });
const task = () => made('create_task', { title: 't' });
const asAgent = (agent: string) => ({ type: 'agent', id: agent });

/** Every place in the input of a tool where an agent is named, with a call that names it there. */
const table: Record<string, { readonly at: readonly string[]; readonly input: Make }> = {
  get_agent: { at: ['id'], input: (agent) => ({ id: agent }) },
  update_agent: { at: ['id'], input: (agent) => ({ id: agent, displayName: 'Ada' }) },
  provision_agent_identity: { at: ['id'], input: (agent) => ({ id: agent, phone: { a2pStatus: 'unregistered' } }) },
  invoke_agent: { at: ['agent'], input: (agent) => ({ agent, input: 'Hi' }) },
  send_chat_message: { at: ['agentId'], input: (agent) => ({ agentId: agent, message: 'Hi' }) },
  list_agent_runs: { at: ['agentId', 'principal'], input: (agent) => ({ agentId: agent }) },
  list_memories: { at: ['agentId'], input: (agent) => ({ agentId: agent }) },
  search_memories: { at: ['agentId'], input: (agent) => ({ agentId: agent, q: 'x' }) },
  create_memory: { at: ['agentId'], input: (agentId) => ({ content: 'x', scope: 'agent', agentId }) },
  update_memory: { at: ['agentId'], input: async (agentId) => ({ id: await memory(), scope: 'agent', agentId }) },
  list_flows: { at: ['agentId'], input: (agentId) => ({ agentId }) },
  create_flow: { at: ['agentId'], input: (agentId) => ({ name: 'f', agentId }) },
  update_flow: { at: ['agentId'], input: async (agentId) => ({ id: await flow(), agentId }) },
  list_threads: { at: ['agentId'], input: (agentId) => ({ agentId }) },
  create_thread: { at: ['agentIds[]'], input: (agent) => ({ title: 'T', agentIds: [agent] }) },
  update_thread: { at: ['agentIds[]'], input: async (agent) => ({ id: await thread(), agentIds: [agent] }) },
  add_thread_access: {
    at: ['entries[].principal.id'],
    input: async (agent) => ({ id: await thread(), entries: [{ principal: asAgent(agent), role: 'viewer' }] }),
  },
  remove_thread_access: {
    at: ['principals[].id', 'principalId'],
    input: async (agent) => ({ id: await shared(), principals: [asAgent(agent)] }),
  },
  update_settings: { at: ['defaultAgentId'], input: (agent) => ({ defaultAgentId: agent }) },
  list_tasks: { at: ['assigneeAgentId'], input: (agent) => ({ assigneeAgentId: agent }) },
  create_task: { at: ['assigneeAgentId'], input: (agent) => ({ title: 't', assigneeAgentId: agent }) },
  update_task: { at: ['assigneeAgentId'], input: async (agent) => ({ id: await task(), assigneeAgentId: agent }) },
  list_versions: { at: ['entityId'], input: (agent) => ({ entityType: 'agent', entityId: agent }) },
  get_version: {
    at: ['entityId'],
    input: async (agent) => ({ entityType: 'agent', entityId: agent, versionId: await version() }),
  },
  diff_version: {
    at: ['entityId'],
    input: async (agent) => ({ entityType: 'agent', entityId: agent, versionId: await version() }),
  },
  restore_version: {
    at: ['entityId'],
    input: async (agent) => ({ entityType: 'agent', entityId: agent, versionId: await version() }),
  },
  undo_changes: {
    at: ['by.agentId'],
    input: (agentId) => ({ by: { agentId }, since: '2026-01-01T00:00:00Z', dryRun: true }),
  },
  list_who_can: { at: ['id'], input: (agent) => ({ tool: 'get_agent', id: agent }) },
  view_as: { at: ['agentId'], input: (agentId) => ({ agentId }) },
  replay_calls: { at: ['agentId'], input: (agentId) => ({ agentId, draft: { tools: [] } }) },
  suggest_access: { at: ['agentId'], input: (agentId) => ({ agentId }) },
  list_audit_entries: { at: ['principal'], input: (agent) => ({ principal: agent }) },
  get_usage: { at: ['filter.agent'], input: (agent) => ({ by: 'tool', filter: { agent } }) },
  list_budgets: { at: ['subject.id'], input: (agent) => ({ subject: asAgent(agent) }) },
  create_budget: {
    at: ['subject.id'],
    input: (agent) => ({ subject: asAgent(agent), measure: 'calls', period: 'day', limit: 0.5 }),
  },
  delete_agent: { at: ['id'], input: (agent) => ({ id: agent }) },
  purge_record: { at: ['id'], input: (agent) => ({ entityType: 'agent', id: agent }) },
};

/** These take the agent away, so each call needs one of its own. */
const ENDS = ['delete_agent', 'purge_record'];

async function shared(): Promise<string> {
  const made = await thread();
  await must('add_thread_access', { id: made, entries: [{ principal: asAgent(id), role: 'viewer' }] });
  return made;
}

async function version(): Promise<string> {
  return (await must('list_versions', { entityType: 'agent', entityId: id })).data.at(-1).id;
}

before(async () => {
  server = await startTestServer();
  id = await made('create_agent', { name: NAME, displayName: 'Ada' });
});
after(() => server.close());

describe('an agent by its name', () => {
  it('is taken wherever an input takes its id', () => {
    const unlisted = catalog.entries.flatMap(({ tool }) => {
      const schema = briefSchema(tool.input);
      return agentPlaces(schema)
        .filter((place) => !table[tool.name]?.at.includes(place))
        .map((place) => `${tool.name}: ${place}`);
    });
    assert.deepEqual(unlisted, []);
  });

  for (const [tool, { input }] of Object.entries(table)) {
    it(`means the same as its id in ${tool}`, async () => {
      if (ENDS.includes(tool)) {
        const name = `To go by ${tool}`;
        const gone = await made('create_agent', { name, displayName: 'Gone' });
        await must(tool, await input(name));
        const { status } = (await server.store.agents.get(gone)) ?? {};
        assert.equal(status, tool === 'delete_agent' ? 'deleted' : undefined);
        return;
      }
      const byId = await callTool(server, server.adminKey, tool, await input(id));
      const byName = await callTool(server, server.adminKey, tool, await input(NAME));
      const plain = (answer: object) => withoutOwn(JSON.stringify(answer));
      assert.equal('error' in byName, 'error' in byId, JSON.stringify([byId, byName]));
      assert.equal(plain(byName), plain(byId));
      assert.ok(!JSON.stringify(byName).includes(`"agentId":"${NAME}"`));
    });
  }

  it('is kept as the id', async () => {
    const records = [
      await must('create_thread', { title: 'T', agentIds: [NAME, id] }),
      await must('create_task', { title: 't', assigneeAgentId: NAME }),
      await must('create_flow', { name: 'f', agentId: NAME }),
      await must('update_settings', { defaultAgentId: NAME }),
    ];
    for (const record of records)
      assert.ok(!JSON.stringify(record).includes(NAME) && JSON.stringify(record).includes(id));
    const { entries } = await must('get_thread_access', { id: await shared() });
    assert.ok(JSON.stringify(entries).includes(id));
    await must('update_settings', { defaultAgentId: null });
  });

  it('is kept as the id in calls to come: of flows, reports and capsules', async () => {
    const call = { tool: 'get_agent', arguments: { id: NAME } };
    const list = { tool: 'list_threads', arguments: { agentId: NAME } };
    const capsule = { name: 'c', allowedTools: ['get_agent', 'list_threads'] };
    const constraints = { get_agent: call.arguments, list_threads: list.arguments };
    const kept = [
      (await must('create_flow', { name: 'f', steps: [{ id: 'a', ...call }] })).steps,
      (await must('create_report', { title: 'r', query: list, visualization: 'table' })).query,
      (await must('create_capsule', { ...capsule, constraints })).constraints,
    ];
    for (const each of kept) assert.ok(JSON.stringify(each).includes(id), JSON.stringify(each));
    for (const each of kept) assert.ok(!JSON.stringify(each).includes(NAME));
  });

  it('is percent-encoded in REST paths, and plain in queries', async () => {
    const path = `/api/v1/agents/${encodeURIComponent(NAME)}`;
    const found = await rest(server, 'GET', path, { key: server.adminKey });
    assert.deepEqual([found.status, found.body.id], [200, id]);
    const changed = await rest(server, 'PATCH', path, { key: server.adminKey, body: { displayName: 'Countess' } });
    assert.deepEqual([changed.status, changed.body.displayName], [200, 'Countess']);
    const query = new URLSearchParams({ agentId: NAME });
    const threads = await rest(server, 'GET', `/api/v1/threads?${query}`, { key: server.adminKey });
    assert.equal(threads.status, 200);
    assert.ok(threads.body.data.length > 0);
    const versions = await rest(server, 'GET', `/api/v1/versions/agent/${encodeURIComponent(NAME)}`, {
      key: server.adminKey,
    });
    assert.equal(versions.status, 200);
  });

  it('is judged by the grants on either, and a refusal does not reveal the id', async () => {
    for (const grant of [`agent:read:${encodeURIComponent(NAME)}`, `agent:read:${id}`]) {
      const key = await makeKey(server, { grants: [grant] });
      for (const agent of [NAME, id]) assert.equal((await mustCall(server, key, 'get_agent', { id: agent })).id, id);
    }
    await must('create_agent', { name: 'other', displayName: 'Other' });
    const key = await makeKey(server, { grants: ['agent:read:other'] });
    const refused = await callTool(server, key, 'get_agent', { id: NAME });
    assert.ok('error' in refused && refused.error.code === 'forbidden');
    assert.ok(!JSON.stringify(refused).includes(id));
  });

  it('is as if there were none for whoever may do nothing to the agent', async () => {
    const scopes = ['threads:write', 'flows:write', 'memory:write', 'tasks:write'];
    const key = await makeKey(server, { scopes });
    for (const [tool, input] of [
      ['create_thread', (agent: string) => ({ title: 'T', agentIds: [agent] })],
      ['create_flow', (agentId: string) => ({ name: 'f', agentId })],
      ['create_memory', (agentId: string) => ({ content: 'x', scope: 'agent', agentId })],
      ['create_task', (assigneeAgentId: string) => ({ title: 't', assigneeAgentId })],
    ] as const) {
      const [there, absent] = await Promise.all(
        [NAME, 'Nobody'].map(async (agent) => {
          const answer = await callTool(server, key, tool, input(agent));
          assert.ok('error' in answer, `${tool}: ${JSON.stringify(answer)}`);
          return JSON.stringify({ ...answer.error, requestId: '' }).replaceAll(agent, 'Nobody');
        }),
      );
      assert.equal(there, absent);
      assert.ok(!there?.includes(id), there);
    }
    const invoking = await makeKey(server, { scopes: ['flows:write', 'chat:write'] });
    assert.equal((await mustCall(server, invoking, 'create_flow', { name: 'f', agentId: NAME })).agentId, id);
  });

  it('is found by list_agents, deleted ones only where asked for', async () => {
    const names = async (input: object) =>
      (await must('list_agents', input)).data.map((agent: { name: string }) => agent.name);
    assert.deepEqual(await names({ name: ` ${NAME} ` }), [NAME]);
    assert.deepEqual(await names({ name: 'Ad' }), []);
    const gone = await made('create_agent', { name: 'gone', displayName: 'Gone' });
    await must('delete_agent', { id: gone });
    assert.deepEqual(await names({ name: 'gone' }), []);
    assert.deepEqual(await names({ name: 'gone', status: 'deleted' }), ['gone']);
  });

  it('is nobody any more once the agent is deleted, whose id goes on', async () => {
    const gone = await made('create_agent', { name: 'departed', displayName: 'Gone' });
    await must('delete_agent', { id: 'departed' });
    const byName = await callTool(server, server.adminKey, 'get_agent', { id: 'departed' });
    assert.ok('error' in byName && byName.error.code === 'not_found');
    assert.equal((await must('get_agent', { id: gone })).status, 'deleted');
    const again = await made('create_agent', { name: 'departed', displayName: 'New' });
    assert.equal((await must('get_agent', { id: 'departed' })).id, again);
  });

  it('stands in the audit log with its id', async () => {
    await must('get_agent', { id: NAME });
    await server.store.audit.flush();
    const { data } = await must('list_audit_entries', { tool: 'get_agent', limit: 1 });
    assert.equal(data[0].arguments.id, NAME);
    assert.ok(
      (await server.store.audit.find({ limit: 5 })).records.some(({ recordIds = [] }) => recordIds.includes(id)),
    );
  });
});

/** Where, by its name or its description, a member holds the id of an agent: `agentIds[]`, `entries[].principal.id`. */
function agentPlaces(node: unknown, at = ''): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { properties = {}, items, anyOf = [], description = '' } = node as Node;
  const name = at.split('.').at(-1) ?? '';
  const holds =
    /^(agent|\w*agentId|\w*agentIds\[\])$/i.test(name) ||
    (/agt_|name of (an|the) agent|agent goes by/.test(description) && !items && Object.keys(properties).length === 0);
  return [
    ...(holds && at !== '' && !items ? [at] : []),
    ...Object.entries(properties).flatMap(([member, inner]) =>
      agentPlaces(inner, at === '' ? member : `${at}.${member}`),
    ),
    ...(items ? agentPlaces(items, `${at}[]`) : []),
    ...anyOf.flatMap((choice) => agentPlaces(choice, at)).filter((place) => place !== at),
  ];
}

interface Node {
  readonly properties?: Record<string, unknown>;
  readonly items?: unknown;
  readonly anyOf?: readonly unknown[];
  readonly description?: string;
}

/** The entry without members that differ from call to call. */
function withoutOwn(json: string): string {
  return json
    .replaceAll(/"[a-z]{3}_[0-9a-z]{26}"/g, (found) => (found === `"${id}"` ? found : '"…"'))
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…')
    .replaceAll(/"(revision|nextCursor|requestId|durationMs)":("[^"]*"|\d+|null)/g, '');
}
