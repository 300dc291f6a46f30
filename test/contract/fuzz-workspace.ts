import { mustCall, rest } from '../support/calls.ts';
import type { TestServer } from '../support/server.ts';

/** What is there: ids by their prefix, and versions with the paths they are found by. It changes while calls make and delete. */
export interface Pool {
  readonly ids: ReadonlyMap<string, readonly string[]>;
  readonly versions: readonly { readonly entityType: string; readonly entityId: string; readonly versionId: string }[];
}

const ID = /\b([a-z]{3})_[0-9a-z]{26}\b/g;
const MOST_KEPT = 4;

/** A record of every kind with a history, each time others; the latest of each kind are kept. */
export function workspaceOf(server: Pick<TestServer, 'baseUrl' | 'adminKey'>) {
  const ids = new Map<string, readonly string[]>();
  const versions: Pool['versions'][number][] = [];
  let round = 0;
  let kept: readonly string[] = [];

  async function make(tool: string, input: object): Promise<{ readonly id: string }> {
    const output = await mustCall(server, server.adminKey, tool, input);
    for (const [id, prefix = ''] of JSON.stringify(output).matchAll(ID)) {
      if (kept.includes(id)) continue;
      const known = ids.get(prefix) ?? [];
      if (!known.includes(id)) ids.set(prefix, [id, ...known].slice(0, MOST_KEPT));
    }
    return output;
  }

  async function fill(): Promise<void> {
    const name = `fuzz ${++round}`;
    const skill = await make('create_skill', { name, instructions: 'one\ntwo' });
    const agent = await make('create_agent', {
      name,
      displayName: name,
      tools: ['list_*', 'create_skill'],
      skillIds: [skill.id],
    });
    await make('update_agent', { id: agent.id, identity: { phone: { enabled: true }, card: { enabled: true } } });
    const free = await make('create_skill', { name: `${name} free` });
    await make('update_skill', { id: free.id, instructions: 'three' });
    const steps = [{ id: 'a', tool: 'list_skills', arguments: { limit: 1 } }];
    const flow = await make('create_flow', { name, steps });
    await make('trigger_flow', { id: flow.id, wait: true });
    const messages = [{ role: 'user', content: 'Hello?' }];
    const thread = await make('create_thread', { title: name, messages });
    await make('list_messages', { id: thread.id });
    const project = await make('create_project', { name });
    const goal = await make('create_goal', { title: name, projectId: project.id });
    await make('create_task', { title: name, goalId: goal.id, content: 'text' });
    await make('create_document', { title: name, content: 'one\ntwo' });
    await make('create_artifact', { name, mimeType: 'text/plain', content: 'x', threadId: thread.id });
    const columns = [{ name: 'a', type: 'string' }];
    const database = await make('create_database', { name, columns });
    await make('create_record', { databaseId: database.id, values: { a: 'x' } });
    await make('create_memory', { content: name, tags: ['x'] });
    await make('create_report', { title: name, query: { tool: 'list_agents' } });
    await make('create_capsule', { name, allowedTools: ['list_agents'] });
    await make('create_admin_user', { email: `fuzz-${round}@example.com` });
    await make('create_api_key', { name, scopes: ['read'] });
    for (const entityType of ['agent', 'skill', 'flow']) {
      const entityId = { agent, skill: free, flow }[entityType]?.id ?? '';
      const { data } = await mustCall(server, server.adminKey, 'list_versions', { entityType, entityId });
      for (const { id } of data) versions.unshift({ entityType, entityId, versionId: id });
    }
  }

  return {
    pool: { ids, versions } as Pool,
    fill,
    async begin(): Promise<void> {
      const { body } = await rest(server, 'GET', '/api/v1/auth/session', { key: server.adminKey });
      kept = [body.key.id, body.key.ownerId];
      await make('create_integration', {
        name: 'Away',
        transport: 'http',
        url: 'http://127.0.0.1:9/mcp',
        enabled: false,
      });
      const alerts = ['flow.failed'];
      await make('create_webhook', { name: 'Mails', target: { email: 'fuzz@example.com' }, alerts, enabled: false });
      for (const [type, records] of Object.entries(ROWS)) await make('import_records', { type, records });
      await fill();
    },
  };
}

export const ROWS = {
  users: ['u1', 'u2', 'u3'].map((uid) => ({
    uid,
    email: `${uid}@example.com`,
    status: 'PRO',
    createdAt: '2026-01-01',
  })),
  subscriptions: [
    {
      id: 's1',
      uid: 'u1',
      plan: 'pro',
      amount: 1000,
      currency: 'EUR',
      interval: 'month',
      status: 'active',
      startedAt: '2026-01-01',
    },
    {
      id: 's2',
      uid: 'u2',
      plan: 'pro',
      amount: 900,
      currency: 'USD',
      interval: 'year',
      status: 'trialing',
      startedAt: '2026-02-01',
    },
  ],
  invoices: [
    {
      id: 'i1',
      uid: 'u1',
      total: 1190,
      tax: 190,
      currency: 'EUR',
      status: 'paid',
      issuedAt: '2026-01-01',
      paidAt: '2026-01-02',
    },
  ],
  events: [{ id: 'e1', uid: 'u1', name: 'publish', at: '2026-01-03T10:00:00Z' }],
  visits: [{ id: 'v1', visitorId: 'x', uid: 'u1', at: '2026-01-03T10:00:00Z', page: '/' }],
  websites: [
    { id: 'w1', uid: 'u1', url: 'https://one.example.com', name: 'One', state: 'draft', createdAt: '2026-01-03' },
  ],
};
