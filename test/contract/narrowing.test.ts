import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { searchTypes } from '../../tools/kinds.ts';
import { callsOf, makeKey, mustCall } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { writing } from '../support/writing.ts';

const WORD = 'marmalade';
const ISSUED = '2026-01-01T00:00:00.000Z';

const server = serverForTests();
const { must } = callsOf(server);
const idOf = async (tool: string, input: object): Promise<string> => (await must(tool, input)).id;

interface Kind {
  make(): Promise<readonly [string, string]>;
  grant(id: string): string;
  /** The lists in which that one stands alone, each with what else it is asked for. */
  readonly lists: readonly (readonly [tool: string, input?: object])[];
  readonly besides?: readonly string[];
  readonly type?: string;
}

/** Two records, made by the tool from what is made of `one` and `two`. */
const two = (tool: string, input: (name: string) => object) => async () =>
  [await idOf(tool, input(`${WORD} one`)), await idOf(tool, input(`${WORD} two`))] as const;

async function makeRuns(): Promise<readonly [string, string]> {
  const flows = await two('create_flow', (name) => ({ name, steps: [{ id: 'one', tool: 'list_skills' }] }))();
  for (const id of flows) await must('trigger_flow', { id, wait: true });
  return flows;
}

async function makeAgentRuns(): Promise<readonly [string, string]> {
  const agents = await two('create_agent', (displayName) => ({ name: `${displayName} runs`, displayName }))();
  for (const agentId of agents) await must('send_chat_message', { agentId, message: 'Hi' });
  return agents;
}

async function makeTasks(): Promise<readonly [string, string]> {
  const ids = await two('create_task', (title) => ({ title }))();
  for (const id of ids) await must('update_task_document', { id, content: WORD });
  return ids;
}

async function makeDatabases(): Promise<readonly [string, string]> {
  const columns = [{ name: 'a', type: 'string' }];
  const ids = await two('create_database', (name) => ({ name, columns }))();
  for (const databaseId of ids) await must('create_record', { databaseId, values: { a: WORD } });
  return ids;
}

let databaseId = '';
async function makeRecords(): Promise<readonly [string, string]> {
  databaseId = await idOf('create_database', { name: 'of records', columns: [{ name: 'a', type: 'string' }] });
  return two('create_record', (a) => ({ databaseId, values: { a } }))();
}

async function makeUsers(): Promise<readonly [string, string]> {
  const uids = ['narrow-1', 'narrow-2'] as const;
  const records = uids.map((uid) => ({ uid, email: `${uid}@${WORD}.example`, status: 'PRO', createdAt: ISSUED }));
  await must('import_records', { type: 'users', records });
  return uids;
}

async function makeSessions(): Promise<readonly [string, string]> {
  await signIn(server);
  await signIn(server);
  const [one, other] = (await must('list_sessions')).data;
  return [one.id, other.id];
}

async function makePasskeys(): Promise<readonly [string, string]> {
  const half = { userId: 'usr_one', name: WORD, publicKey: 'one', counter: 0, isSynced: false };
  return server.store.transaction(async (tx) => {
    const one = await tx.passkeys.insert({ ...half, credentialId: 'one' });
    const other = await tx.passkeys.insert({ ...half, credentialId: 'other' });
    return [one.id, other.id];
  });
}

async function makeApps(): Promise<readonly [string, string]> {
  const client = { name: 'x', host: 'example.com', verified: false };
  const app = { clientId: 'x', client, resource: 'https://example.com/api/v1/mcp', scopes: [], userId: 'usr_none' };
  const make = () => writing(server.store).connectedApps.insert(app);
  return [(await make()).id, (await make()).id];
}

async function makeBudgets(): Promise<readonly [string, string]> {
  const id = await idOf('create_agent', { name: 'with budgets', displayName: 'With budgets' });
  const half = { subject: { type: 'agent', id }, measure: 'calls', limit: 10 };
  return [
    await idOf('create_budget', { ...half, period: 'day' }),
    await idOf('create_budget', { ...half, period: 'month' }),
  ];
}

const messages = [{ role: 'user', content: WORD }];
const kinds: Readonly<Record<string, Kind>> = {
  agents: {
    make: two('create_agent', (name) => ({ name, displayName: name })),
    grant: (id) => `agent:read:${id}`,
    lists: [['list_agents'], ['list_agents', { status: 'active' }]],
    type: 'agent',
  },
  skills: {
    make: two('create_skill', (name) => ({ name, instructions: 'x' })),
    grant: (id) => `skill:read:${id}`,
    lists: [['list_skills']],
    type: 'skill',
  },
  flows: {
    make: makeRuns,
    grant: (id) => `flow:read:${id}`,
    lists: [['list_flows'], ['list_flows', { enabled: true }]],
    type: 'flow',
  },
  'flow runs': {
    make: makeRuns,
    grant: (id) => `flow:read:${id}`,
    lists: [['list_flow_runs'], ['list_flow_runs', { status: 'succeeded' }]],
  },
  'agent runs': {
    make: makeAgentRuns,
    grant: (id) => `agent:read:${id}`,
    besides: ['thread:read'],
    lists: [['list_agent_runs'], ['list_agent_runs', { status: 'succeeded' }]],
  },
  threads: {
    make: two('create_thread', (title) => ({ title, messages })),
    grant: (id) => `thread:read:${id}`,
    lists: [['list_threads'], ['list_threads', { status: 'active' }]],
    type: 'thread',
  },
  messages: {
    make: two('create_thread', () => ({ title: 'x', messages })),
    grant: (id) => `thread:read:${id}`,
    lists: [],
    type: 'message',
  },
  memories: {
    make: two('create_memory', (content) => ({ content, kind: 'fact', scope: 'workspace' })),
    grant: (id) => `memory:read:${id}`,
    lists: [['list_memories'], ['list_memories', { q: WORD }], ['search_memories', { q: WORD }]],
    type: 'memory',
  },
  users: {
    make: makeUsers,
    grant: (uid) => `user:read:${uid}`,
    lists: [['list_users'], ['list_users', { status: 'PRO' }], ['list_users', { search: WORD, includeDeleted: true }]],
    type: 'user',
  },
  'admin users': {
    make: two('create_admin_user', (name) => ({ email: `${name.split(' ')[1]}@${WORD}.example`, name })),
    grant: (id) => `admin-user:read:${id}`,
    lists: [['list_admin_users'], ['list_admin_users', { isActive: true }]],
    type: 'admin-user',
  },
  reports: {
    make: two('create_report', (title) => ({ title, query: { tool: 'list_skills' } })),
    grant: (id) => `report:read:${id}`,
    lists: [['list_reports'], ['list_reports', { q: WORD, tool: 'list_skills' }]],
    type: 'report',
  },
  capsules: {
    make: two('create_capsule', (name) => ({ name })),
    grant: (id) => `capsule:read:${id}`,
    lists: [['list_capsules'], ['list_capsules', { status: 'draft' }]],
    type: 'capsule',
  },
  keys: {
    make: two('create_api_key', (name) => ({ name, scopes: ['read'] })),
    grant: (id) => `key:read:${id}`,
    lists: [['list_api_keys'], ['list_api_keys', { state: 'active' }]],
  },
  'connected apps': {
    make: makeApps,
    grant: (id) => `app:read:${id}`,
    lists: [['list_connected_apps'], ['list_connected_apps', { userId: 'usr_none' }]],
  },
  'OAuth clients': {
    make: two('create_oauth_client', (name) => ({
      name,
      redirectUris: ['https://example.com/back'],
      confidential: false,
    })),
    grant: (id) => `oauth-client:read:${id}`,
    lists: [['list_oauth_clients'], ['list_oauth_clients', { kind: 'made' }]],
  },
  budgets: { make: makeBudgets, grant: (id) => `budget:read:${id}`, lists: [['list_budgets']] },
  passkeys: { make: makePasskeys, grant: (id) => `passkey:read:${id}`, lists: [['list_passkeys']] },
  sessions: { make: makeSessions, grant: (id) => `session:read:${id}`, lists: [['list_sessions']] },
  projects: {
    make: two('create_project', (name) => ({ name })),
    grant: (id) => `project:read:${id}`,
    lists: [['list_projects'], ['list_projects', { status: 'active' }]],
    type: 'project',
  },
  goals: {
    make: two('create_goal', (title) => ({ title })),
    grant: (id) => `goal:read:${id}`,
    lists: [['list_goals'], ['list_goals', { status: 'active' }]],
    type: 'goal',
  },
  tasks: {
    make: makeTasks,
    grant: (id) => `task:read:${id}`,
    lists: [['list_tasks'], ['list_tasks', { status: 'todo' }]],
    type: 'task',
  },
  'task documents': { make: makeTasks, grant: (id) => `task:read:${id}`, lists: [], type: 'task-document' },
  documents: {
    make: two('create_document', (title) => ({ title, tags: ['t'], content: WORD })),
    grant: (id) => `document:read:${id}`,
    lists: [['list_documents'], ['list_documents', { tag: 't' }], ['search_passages', { q: WORD }]],
    type: 'document',
  },
  artifacts: {
    make: two('create_artifact', (name) => ({ name, mimeType: 'text/plain', content: 'x' })),
    grant: (id) => `artifact:read:${id}`,
    lists: [['list_artifacts'], ['list_artifacts', { mimeType: 'text/plain' }]],
    type: 'artifact',
  },
  databases: { make: makeDatabases, grant: (id) => `record:read:${id}`, lists: [['list_databases']], type: 'database' },
  records: {
    make: makeRecords,
    grant: (id) => `record:read:${id}`,
    lists: [['list_records'], ['list_records', { filter: { a: { contains: WORD } } }]],
    type: 'database-record',
  },
  integrations: {
    make: two('create_integration', (name) => ({
      name,
      transport: 'http',
      url: 'http://127.0.0.1:9/mcp',
      enabled: false,
    })),
    grant: (id) => `integration:read:${id}`,
    lists: [['list_integrations'], ['list_integrations', { enabled: false }]],
  },
  connections: {
    make: two('create_connection', (name) => ({
      name: name.toLowerCase().replace(/[^a-z0-9]+/g, '-'),
      kind: 'http',
      baseUrl: 'http://127.0.0.1:9/',
    })),
    grant: (id) => `connection:read:${id}`,
    lists: [['list_connections']],
  },
  modelProviders: {
    make: two('create_model_provider', (name) => ({
      name: name.toLowerCase().replace(/[^a-z0-9]+/g, '-'),
      kind: 'anthropic',
      enabled: false,
    })),
    grant: (id) => `model-provider:read:${id}`,
    lists: [['list_model_providers']],
  },
  webhooks: {
    make: two('create_webhook', (name) => ({ name, target: { email: 'a@example.com' }, alerts: ['flow.failed'] })),
    grant: (id) => `webhook:read:${id}`,
    lists: [['list_webhooks']],
  },
};

/** Lists of things that no grant can name one by one, and why. */
const whole: Readonly<Record<string, string>> = {
  list_audit_entries: 'the right to the audit log is one to all of it',
  list_approvals: 'the calls of the caller, and those it may decide, each by the right to make it',
  list_backups: 'each holds everything, so the right to see them is one to all',
  get_usage: 'sums of what everybody did, as the audit log has it',
  list_integration_accounts: 'the accounts of the caller, and of others only with the right to integrations',
  list_who_can: 'the rights of everybody, for those with full access alone',
  list_holdings: 'about one person, whom its grant names; what it lists is held to the right to read each',
  list_models: 'models are no records',
  list_webhook_deliveries: 'about one webhook, which its grant names',
  list_event_types: 'types are no records',
  list_tool_categories: 'tools are no records',
  search_tools: 'tools are no records',
  list_messages: 'about one thread, which its grant names',
  list_flow_deliveries: 'about one flow, which its grant names',
  list_versions: 'about one record, which its grant names',
  get_user_timeline: 'about one user, whom its grant names',
  list_user_websites: 'about one user, whom its grant names',
};
const others = ['search', 'get_thread_stats'];

/** Whether it shows many records, by its name, its form or its declaration. */
function isList({ name, input, annotations, access }: Tool): boolean {
  const narrows = ('among' in access ? access.among : [access]).some((one) => one.narrows);
  return annotations.readOnlyHint && (/^(list|search)(_|$)|_stats$/.test(name) || 'cursor' in input.shape || narrows);
}

it('every list is held to the records that a grant names, or cannot be', () => {
  const lists = catalog.entries.map(({ tool }) => tool).filter((tool) => isList(tool) && !tool.name.includes('__'));
  const covered = [...Object.values(kinds).flatMap((kind) => kind.lists.map(([tool]) => tool)), ...others];
  const known = [...covered, ...Object.keys(whole)];
  assert.deepEqual(
    lists.map(({ name }) => name).filter((name) => !known.includes(name)),
    [],
  );
  assert.deepEqual(
    known.filter((name) => !lists.some((tool) => tool.name === name)),
    [],
  );
  const types = Object.values(kinds).map(({ type }) => type);
  assert.deepEqual(
    searchTypes.map(({ type }) => type).filter((type) => !types.includes(type)),
    [],
  );
});

for (const [name, { make, grant, besides = [], lists, type }] of Object.entries(kinds)) {
  describe(`a grant for one of the ${name}`, () => {
    let ids: readonly string[] = [];
    before(async () => {
      ids = await make();
    });
    const keyOf = (...of: string[]) => makeKey(server, { grants: [...of.map(grant), ...besides, 'search:read'] });

    for (const [tool, input] of lists) {
      it(`shows exactly that one in ${tool} ${input ? JSON.stringify(input) : ''}`, async () => {
        for (const wanted of [[ids[0] ?? ''], [ids[1] ?? ''], [...ids], ['none']]) {
          const { shown, total, nextCursor } = await listed(tool, input, await keyOf(...wanted));
          const expected = wanted.filter((id) => id !== 'none').sort();
          assert.deepEqual(shown.sort(), expected);
          if (total !== undefined) assert.equal(total, expected.length);
          assert.equal(nextCursor, null);
        }
      });
    }

    if (type !== undefined) {
      it('shows what it names in searches and in their counts', async () => {
        for (const id of ids) {
          const key = await keyOf(id);
          for (const input of [{ q: WORD }, { q: WORD, types: [type] }, { q: WORD, limit: 1 }]) {
            const { data, facets } = await mustCall(server, key, 'search', input);
            assert.equal(facets[type], 1, `${JSON.stringify(input)}: ${JSON.stringify(facets)}`);
            for (const hit of data) assert.ok([hit.id, hit.parent?.id].includes(id), JSON.stringify(hit));
          }
        }
      });
    }
  });

  async function listed(tool: string, input: object | undefined, key: string) {
    const asked = { ...input, ...(tool === 'list_records' && { databaseId }) };
    const counts = 'includeTotal' in (catalog.get(tool)?.tool.input.shape ?? {});
    const limit = tool === 'search_passages' ? 50 : 100;
    const page = await mustCall(server, key, tool, { ...asked, limit, ...(counts && { includeTotal: true }) });
    const isRun = tool === 'list_agent_runs';
    const shown: string[] = page.data.map((one: Record<string, string>) =>
      isRun ? one.agentId : (one.flowId ?? one.documentId ?? one.uid ?? one.id),
    );
    return { shown, total: page.total, nextCursor: page.nextCursor };
  }
}

it('a grant for one database shows its records and no others', async () => {
  const [one, other] = await makeDatabases();
  const key = await makeKey(server, { grants: [`record:read:${one}`] });
  const page = (id: string) => mustCall(server, key, 'list_records', { databaseId: id, includeTotal: true });
  assert.deepEqual([(await page(one)).total, (await page(other)).total], [1, 0]);
});

it('a grant for one thread counts that one alone in get_thread_stats, with its messages', async () => {
  const [one] = await two('create_thread', (title) => ({ title, messages: [...messages, ...messages] }))();
  const key = await makeKey(server, { grants: [`thread:read:${one}`] });
  const stats = await mustCall(server, key, 'get_thread_stats');
  assert.deepEqual([stats.threads, stats.messages, stats.byStatus], [1, 2, { active: 1, archived: 0 }]);
  assert.equal(stats.messagesPerDay.at(-1).count ?? stats.messagesPerDay.at(-1).messages, 2);
  const none = await mustCall(server, await makeKey(server, { grants: ['thread:read:none'] }), 'get_thread_stats');
  assert.deepEqual([none.threads, none.messages], [0, 0]);
});
