import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callsOf, callTool, rest } from '../support/calls.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { placesWith } from '../support/store.ts';
import { connectHttp, type FakeUpstream, startUpstream, toolCalled } from '../support/upstream.ts';
import { type SensitivePlace, sensitivePlaces, valueAt } from './sensitive-places.ts';

const MARKER = 'm4rk3r-s3cr3t-0815';

/** Tools of an integration whose servers say what is secret. */
const guests: SensitivePlace[] = ['gh__login', 'gh__look'].flatMap((tool) =>
  [['token'], ['nested', 'password'], ['shared'], ['other']].map((path) => ({ tool, path, part: 'all' as const })),
);
const SCHEMA = {
  type: 'object',
  properties: {
    token: { type: 'string', writeOnly: true },
    nested: { type: 'object', properties: { password: { type: 'string', format: 'password' } } },
    shared: { $ref: '#/$defs/shared' },
    plain: { type: 'string' },
  },
  $defs: { shared: { anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { writeOnly: true } } }] } },
  additionalProperties: { type: 'string', writeOnly: true },
};

let server: TestServer;
let fake: FakeUpstream;
let provider: ModelServer;
let places: readonly SensitivePlace[];

before(async () => {
  fake = await startUpstream(toolCalled('login', { inputSchema: SCHEMA }), toolCalled('look', { inputSchema: SCHEMA }));
  provider = await startModelServer();
  server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
  await connectHttp(server, fake.url, { name: 'gh', readOnlyTools: ['look'] });
  places = [...sensitivePlaces, ...guests];
});
after(() => Promise.all([server.close(), fake.close(), provider.close()]));

const admin = (tool: string, input: object) => callTool(server, server.adminKey, tool, input);
/** Arguments with the secret in the place, in the forms in which callers may write them. */
function argumentsWith({ path, part }: SensitivePlace): object[] {
  if (part === 'userinfo') {
    const urls = [
      `http://user:${MARKER}@127.0.0.1/`,
      `http:///user:${MARKER}@127.0.0.1/`,
      `http:user:${MARKER}@127.0.0.1/`,
      `http://user:${MARKER}/@127.0.0.1/`,
      `http://${MARKER}:x@{{ input.host }}/`,
    ];
    return urls.map((url) => valueAt(path, url) as object);
  }
  const values = [
    MARKER,
    { Authorization: `Bearer ${MARKER}` },
    [MARKER],
    [{ email: MARKER }],
    `{"Authorization": "${MARKER}"}`,
    `{{ "${MARKER}" }}`,
    `${MARKER} {{ input.rest }}`,
    `{{ input.none | default: "${MARKER}" }}`,
    `{% if input %}${MARKER}{% endif %}`,
    `{{ ${MARKER}`,
  ];
  const above = path.length > 1 ? [valueAt(path.slice(0, -1), JSON.stringify(valueAt(path.slice(-1), MARKER)))] : [];
  return [...values.map((value) => valueAt(path, value)), ...above] as object[];
}

function holdersOf(tool: string, given: object): [string, object][] {
  const step = { id: 'a', tool, arguments: given };
  const text = JSON.stringify(given);
  const query = { tool, arguments: given };
  return [
    ['create_flow', { name: PLAIN, steps: [step] }],
    ['create_flow', { name: 'f', steps: JSON.stringify([step]) }],
    ['create_flow', { name: 'f', steps: [{ ...step, arguments: text }] }],
    ['create_flow', { name: 'f', steps: { 0: step } }],
    ['create_flow', { name: 'f', steps: [{ ...step, tool: `${tool} ` }] }],
    ['create_flow', { name: 'f', steps: [{ id: 'o', tool: 'create_flow', arguments: { name: 'i', steps: [step] } }] }],
    ['create_flow', { name: 'f', steps: [{ id: 'o', tool: 'create_report', arguments: { title: 't', query } }] }],
    ['update_flow', { id: flowId, steps: [step] }],
    ['create_report', { title: PLAIN, query }],
    ['create_report', { title: 'r', query: { tool, arguments: text } }],
    ['create_report', { title: 'r', query: text }],
    ['update_report', { id: reportId, query }],
    ['create_capsule', { name: PLAIN, allowedTools: [tool], constraints: { [tool]: given } }],
    ['create_capsule', { name: 'c', allowedTools: [tool], constraints: { [tool]: text } }],
    ['create_capsule', { name: 'c', allowedTools: [tool], constraints: text }],
    ['update_capsule', { id: capsuleId, constraints: { [tool]: given } }],
    ['preview_capsule', { draft: { allowedTools: [tool], constraints: { [tool]: given } } }],
    ['call_tool', { name: tool, arguments: text }],
    ['call_tool', { name: `${tool}x`, arguments: given }],
    ['call_tool', { arguments: given }],
    ['call_tool', { name: 'call_tool', arguments: { name: tool, arguments: text } }],
    ['call_tool', { name: 'create_flow', arguments: { name: 'f', steps: [step] } }],
    ['explain_access', { keyId: 'key_none', tool, arguments: given }],
    ['explain_access', { keyId: 'key_none', tool, arguments: text }],
  ];
}

let flowId: string;
let reportId: string;
let capsuleId: string;

/** Names what is tried with every form of a secret. */
const PLAIN = 'plain way';

/** Ways that keep what they are given: none of them may take a secret. */
const KEEPS = /^(?:create|update)_(?:flow|report|capsule)$/;

describe('a secret in the arguments of a tool', () => {
  before(async () => {
    const { must } = callsOf(server);
    flowId = (await must('create_flow', { name: 'kept' })).id;
    reportId = (await must('create_report', { title: 'kept', query: { tool: 'list_agents' } })).id;
    capsuleId = (await must('create_capsule', { name: 'kept', allowedTools: ['list_agents'] })).id;
  });

  it('is marked by the tools that take one', () => {
    const tools = new Set(sensitivePlaces.map(({ tool }) => tool));
    for (const tool of ['provision_agent_identity', 'create_integration', 'update_flow', 'import_records']) {
      assert.ok(tools.has(tool), tool);
    }
  });

  it('is kept by nothing that holds arguments for later, and repeated by no answer', async () => {
    let refused = 0;
    for (const place of places) {
      for (const [index, given] of argumentsWith(place).entries()) {
        // All ways with one form, and all forms in one way of each kind.
        const holders = holdersOf(place.tool, given).filter(
          ([, input]) => index === 0 || JSON.stringify(input).includes(PLAIN),
        );
        await Promise.all(
          holders.map(async ([holder, input]) => {
            const answer = await admin(holder, input).catch((thrown: Error) => ({ error: { code: thrown.message } }));
            const said = JSON.stringify(answer);
            assert.ok(!said.includes(MARKER), `${holder} repeats ${JSON.stringify(input)}: ${said}`);
            if (!KEEPS.test(holder)) return;
            assert.ok('error' in answer, `${holder} keeps ${JSON.stringify(input)}`);
            refused += 1;
          }),
        );
      }
    }
    assert.ok(refused > 100, `${refused} refused`);
    for (const given of argumentsWith(places[0] as SensitivePlace)) {
      const [step, query] = [
        { id: 'a', tool: places[0]?.tool, arguments: given },
        { tool: places[0]?.tool, arguments: given },
      ];
      for (const [path, body] of [
        ['/api/v1/agents/flows', { name: 'f', steps: [step] }],
        ['/api/v1/reports', { title: 'r', query }],
      ] as const) {
        assert.equal((await rest(server, 'POST', path, { key: server.adminKey, body })).status, 400);
      }
    }
  });

  it('is not kept where an agent gives it', async () => {
    const { must } = callsOf(server);
    const { id: agentId } = await must('create_agent', { name: 'ada', displayName: 'Ada', tools: ['gh__login'] });
    const [place] = places;
    const calls = holdersOf(place?.tool ?? '', argumentsWith(place as SensitivePlace)[0] as object).map(
      ([name, input]) => ({
        name,
        arguments: input,
      }),
    );
    provider.play(({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls }));
    const { threadId } = await must('send_chat_message', { message: 'Go', agentId });
    const messages = JSON.stringify(await must('list_messages', { id: threadId }));
    assert.ok(messages.includes('create_flow') && !messages.includes(MARKER));
  });

  it('is taken from the answer of an earlier step, and shown nowhere else', async () => {
    const { must } = callsOf(server);
    const { id } = await must('create_agent', { name: 'phoned', displayName: 'Phoned' });
    const steps = [
      { id: 'buy', tool: 'gh__look', arguments: { plain: '+1555' } },
      {
        id: 'note',
        tool: 'provision_agent_identity',
        arguments: {
          id,
          phone: { number: '{{ steps.buy.output.content[0].text }}' },
          card: { cardRef: '{{steps.buy.output.content[0].text}}' },
        },
      },
    ];
    const flow = await must('create_flow', { name: 'buys a number', steps });
    const run = await must('trigger_flow', { id: flow.id, wait: true });
    assert.equal(run.status, 'succeeded', JSON.stringify(run));
    assert.deepEqual(run.steps[1].input, { id, phone: { number: '[redacted]' }, card: { cardRef: '[redacted]' } });
    assert.deepEqual((await must('get_agent', { id })).identity.phone.number, '•••');
    const { data } = await must('list_audit_entries', { tool: 'provision_agent_identity', limit: 1 });
    assert.ok(!JSON.stringify(data).includes('1555'));
  });

  it('is in no audit entry, list, version, search result, log line or file', async () => {
    const { must } = callsOf(server);
    const read: [string, object][] = [
      ['list_flows', {}],
      ['list_reports', {}],
      ['list_capsules', {}],
      ['list_integrations', {}],
      ['list_flow_runs', {}],
      ['search', { q: MARKER.slice(0, 6) }],
      ['list_versions', { entityType: 'flow', entityId: flowId }],
    ];
    for (const [tool, input] of read) {
      assert.ok(!JSON.stringify(await must(tool, input)).includes(MARKER), tool);
    }
    let cursor: string | null = null;
    let entries = 0;
    do {
      const page = await must('list_audit_entries', { limit: 100, ...(cursor && { cursor }) });
      for (const entry of page.data) assert.ok(!JSON.stringify(entry).includes(MARKER), JSON.stringify(entry));
      entries += page.data.length;
      cursor = page.nextCursor;
    } while (cursor);
    assert.ok(entries > 100, `${entries} entries`);
    assert.ok(!JSON.stringify(server.log).includes(MARKER));
    await server.stop();
    assert.deepEqual(await placesWith(server.folder, MARKER), []);
  });
});
