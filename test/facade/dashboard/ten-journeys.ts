import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { mustCall } from '../../support/calls.ts';
import type { Person } from '../../support/person.ts';
import type { TestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { startUpstream, toolCalled } from '../../support/upstream.ts';
import { github } from '../../support/webhook-senders.ts';

export interface JourneyWorld {
  readonly server: TestServer;
  /** Runs a script in the page. */
  evaluate(source: string): Promise<unknown>;
}

export interface Journey {
  readonly name: string;
  /** Presses and fields that it takes at most. */
  readonly most: number;
  run(person: Person, world: JourneyWorld): Promise<void>;
}

const caller =
  ({ server }: JourneyWorld) =>
  (tool: string, input: object = {}) =>
    mustCall(server, server.adminKey, tool, input);

async function useTools(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const client = new Client({ name: 'journey', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  await client.listTools();
  const { isError } = await client.callTool({ name: 'list_skills', arguments: {} });
  assert.ok(!isError, 'The client may call list_skills.');
  await client.close();
}

/** As if it had been chosen in the window of the system, which no browser lets a test use. */
const giveFile = (name: string, text: string) => `(() => {
  const input = document.querySelector('input[type=file]');
  const chosen = new DataTransfer();
  chosen.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}, { type: 'text/csv' }));
  input.files = chosen.files;
  input.dispatchEvent(new Event('change', { bubbles: true }));
})()`;

const USERS = `uid,email,status,createdAt
j1,j1@example.com,PRO,2026-01-02
j2,j2@example.com,PRO,2026-02-02
`;

const SUBSCRIPTIONS = `id,uid,plan,amount,currency,interval,status,startedAt,endedAt
js1,j1,pro,20,USD,month,active,2026-01-02,
js2,j2,pro,20,USD,month,canceled,2026-02-02,2026-09-15
`;

/** What people come to do, from Home on, by what is on the pages alone. */
export const JOURNEYS: readonly Journey[] = [
  {
    name: 'connects Cursor, and then Claude Code',
    most: 5,
    async run(person, { server }) {
      await person.press('link', 'Connect');
      await person.press('radio', 'Cursor');
      await person.press('button', 'Make the key for Cursor');
      await person.shows('Waiting for the first call of Cursor');
      const { mcpServers } = JSON.parse(await person.textOf('.connect pre code'));
      const [{ url, headers }] = Object.values<{ url: string; headers: Record<string, string> }>(mcpServers) as [never];
      assert.ok(String(url).startsWith(server.baseUrl));
      await useTools(url, headers);
      await person.shows('It works: a client has connected.');
      await person.press('radio', 'Claude Code');
      await person.press('button', 'Make the key for Claude Code');
      await person.shows('claude mcp add');
    },
  },
  {
    name: 'hands over a capsule, and watches it',
    most: 9,
    async run(person, { server }) {
      await person.press('link', 'Capsules');
      await person.press('link', 'New capsule');
      await person.fill('Name', 'Partner');
      await person.fill('Find tools', 'list skills', 'searchbox');
      await person.key('Enter');
      await person.fill('Status', 'live');
      await person.press('button', 'Create capsule');
      const token = await person.textOf('.secret code');
      await person.press('button', 'I have it');
      await person.isAt(/^\/capsules\/cap_/);
      const { data } = await mustCall(server, server.adminKey, 'list_capsules', { q: 'Partner', limit: 1 });
      await useTools(`${server.baseUrl}/api/capsules/${data[0].id}/mcp`, { Authorization: `Bearer ${token}` });
      await person.press('tab', 'Use');
      await person.shows('list_skills');
    },
  },
  {
    name: 'imports users, and looks at churn and the funnel',
    most: 7,
    async run(person, { evaluate }) {
      await person.press('link', 'Import');
      await person.shows('Drop a file here');
      await evaluate(giveFile('users.csv', USERS));
      await person.press('button', 'Import 2 rows');
      await person.shows('2 rows read');
      await evaluate(giveFile('subscriptions.csv', SUBSCRIPTIONS));
      await person.press('button', 'Import 2 rows');
      await person.shows('2 rows read');
      await person.press('link', 'Analytics');
      await person.press('link', 'Churn');
      await person.shows('Churn a month');
      await person.press('link', 'Onboarding funnel');
      await person.press('button', 'CSV');
    },
  },
  {
    name: 'makes a first agent with a skill, and has a chat',
    most: 11,
    async run(person) {
      await person.press('link', 'Agents');
      await person.press('link', 'New agent');
      await person.fill('Display name', 'Ada');
      await person.press('button', 'New skill…');
      await person.fill('Name', 'tone');
      await person.fill('Instructions', 'Be kind.');
      await person.press('button', 'Create skill');
      await person.press('button', 'Create agent');
      await person.isAt(/^\/agents\/agt_/);
      await person.press('link', 'Chat');
      await person.fill('Message', 'Hello', 'textbox');
      await person.key('Enter');
      await person.shows('Hello');
      await person.isAt(/^\/chat\/thr_/);
    },
  },
  {
    name: 'invites a colleague to two projects',
    most: 12,
    async run(person, world) {
      const call = caller(world);
      await call('create_project', { name: 'Opening' });
      await call('create_project', { name: 'Closing' });
      await person.press('link', 'Admin users');
      await person.press('link', 'Invite somebody');
      await person.fill('Email', 'colleague@example.com');
      await person.press('radio', 'Only what you pick Single agents, projects, threads, documents and databases.');
      for (const name of ['Opening', 'Closing']) {
        await person.press('button', 'Add');
        await person.fill('Name or id', name, 'searchbox');
        await person.pressIn('.record-group', name);
      }
      await person.press('button', 'Invite');
      await person.press('button', 'Done');
      await person.shows('Sees 2 projects; nothing else.');
    },
  },
  {
    name: 'explains a wrong answer, and takes it back',
    most: 5,
    async run(person, world) {
      const call = caller(world);
      const skill = await call('create_skill', { name: 'refunds', instructions: 'Within 5 days.' });
      const rex = { displayName: 'Rex', modelPreference: 'offline/rehearsal', tools: ['update_skill'] };
      const agent = await call('create_agent', { name: 'rex', ...rex });
      const wrong = JSON.stringify({ id: skill.id, instructions: 'Never.' });
      await call('send_chat_message', { agentId: agent.id, message: `/update_skill ${wrong}` });
      await person.press('link', 'Chat');
      await person.pressAt('.list-pane tbody a');
      await person.press('button', 'Why?');
      await person.shows('Why it said that');
      await person.press('button', 'Undo changes');
      await person.press('button', 'Undo in 1 record');
      await person.shows('1 record put back.');
      assert.equal((await call('get_skill', { id: skill.id })).instructions, 'Within 5 days.');
    },
  },
  {
    name: 'makes a flow that GitHub starts, and repairs it where it failed',
    most: 17,
    async run(person, world) {
      const call = caller(world);
      await person.press('link', 'Flows');
      await person.press('link', 'New flow');
      await person.fill('Name', 'From GitHub');
      await person.press('radio', 'When a webhook arrives');
      await person.fill('Sender', 'github');
      await person.fill('Secret', github.secret);
      await person.press('button', 'Add a step at the beginning');
      await person.fill('Find tools', 'get skill', 'searchbox');
      await person.key('Enter');
      await person.press('button', 'Take it from data: Skill');
      await person.fill('Skill', '{{ input.skill }}');
      await person.press('button', 'Create flow');
      await person.isAt(/^\/flows\/flw_/);
      const { data } = await call('list_flows', { limit: 1 });
      const url = `${world.server.baseUrl}/api/v1/agents/flows/${data[0].id}/trigger`;
      const sent = await fetch(url, { method: 'POST', ...github.sign('{"skill":"misspelt"}', 0) });
      assert.equal(sent.status, 202);
      await call('create_skill', { name: 'pushed', instructions: 'Read me.' });
      await until(async () => (await call('list_flow_runs', { id: data[0].id })).data[0]?.status === 'failed');
      await person.press('tab', 'Runs');
      await person.pressAt('[role=tabpanel] tbody a');
      await person.press('button', 'Repair and continue');
      await person.fill('Skill', 'pushed');
      await person.press('button', 'Save and continue');
      await until(async () => (await call('list_flow_runs', { id: data[0].id })).data[0]?.status === 'succeeded');
      await person.shows('Run again');
    },
  },
  {
    name: 'uses an upstream server in a chat',
    most: 13,
    async run(person, world) {
      const upstream = await startUpstream(toolCalled('lookup'));
      await person.press('link', 'Integrations');
      await person.press('link', 'New integration');
      await person.fill('Name', 'Lookup');
      await person.fill('Address', upstream.url);
      await person.press('button', 'Create integration');
      await person.isAt(/^\/integrations\/int_/);
      await person.press('link', 'Read and approve');
      await person.press('button', 'Approve');
      await person.shows('Approve 1 definition?');
      await person.press('button', 'Approve');
      await person.shows('May write');
      const rest = { displayName: 'Finder', modelPreference: 'offline/rehearsal', tools: ['lookup__*'] };
      await caller(world)('create_agent', { name: 'finder', ...rest });
      await person.press('link', 'Chat');
      await person.press('link', 'New chat');
      await person.press('radio', 'Finder');
      await person.fill('Message', '/lookup__lookup {}', 'textbox');
      await person.key('Enter');
      await person.shows('lookup__lookup');
      await until(() => upstream.requests.some(({ method }) => method === 'tools/call'));
    },
  },
  {
    name: 'finds who spends most, and limits it',
    most: 6,
    async run(person, world) {
      const call = caller(world);
      const spender = { displayName: 'Spender', modelPreference: 'offline/rehearsal', tools: ['list_*'] };
      await call('create_agent', { name: 'spender', ...spender });
      await call('invoke_agent', { agent: 'spender', input: `Say this again: ${'many words '.repeat(2000)}` });
      await person.press('link', 'Usage');
      await person.press('link', 'spender');
      await person.press('tab', 'Budgets');
      await person.press('link', 'New budget');
      await person.fill('Limit (tokens)', '1000');
      await person.press('button', 'Create budget');
      await person.isAt(/^\/budgets\/bud_/);
    },
  },
  {
    name: 'finds anything by the palette',
    most: 3,
    async run(person) {
      await person.key('/');
      await person.fill('Find a page, a record, or what to do', 'spends most', 'combobox');
      await person.shows('Usage');
      await person.key('Enter');
      await person.isAt(/^\/usage$/);
    },
  },
];
