import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { z } from 'zod';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { defineTool, READS } from '../../tools/core/registry/define-tool.ts';
import { callsOf, callTool, rest } from '../support/calls.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { type OtlpReceiver, type SentSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { connectHttp, type FakeUpstream, guestNames, reply, startUpstream, toolCalled } from '../support/upstream.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const META = { traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'vendor=abc' };
/** Nothing of these may be recorded, unless it was switched on. */
const SECRETS = {
  argument: 'planted-argument-5f1a',
  prompt: 'planted-prompt-77c2',
  instructions: 'planted-instructions-19be',
  answer: 'planted-answer-c0de',
  result: 'planted-result-4242',
  header: 'planted-header-aa01',
  query: 'planted-query-bb02',
  failure: 'planted-failure-dd03',
};

const failing = defineTool({
  name: 'fail_now',
  title: 'Fail now',
  description: 'Fail as a fault of the server does.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({ text: z.string() }),
  output: z.object({}),
  errors: [],
  handler: ({ text }) => Promise.reject(new Error(`It failed on ${text.length} characters.`)),
});

interface World {
  readonly receiver: OtlpReceiver;
  readonly server: TestServer;
  readonly model: ModelServer;
  readonly upstream: FakeUpstream;
  /** `_meta` and headers with which the upstream was called. */
  readonly upstreamCalls: { meta: Record<string, string>; headers: Record<string, unknown> }[];
}

/** A server that sends its traces, with an agent whose model calls a tool of an integration, which was called once by a client's trace. */
async function startWorld(env: Record<string, string> = {}): Promise<World> {
  const [receiver, model, upstream] = await Promise.all([
    startOtlpReceiver(),
    startModelServer(),
    startUpstream(toolCalled('look', { inputSchema: { type: 'object', properties: { q: { type: 'string' } } } })),
  ]);
  const upstreamCalls: World['upstreamCalls'] = [];
  upstream.intercept = (request, response, message) => {
    if (message.method !== 'tools/call') return false;
    upstreamCalls.push({ meta: message.params._meta, headers: request.headers });
    reply(response, message.id, { content: [{ type: 'text', text: SECRETS.result }] });
  };
  model.play((_, count) =>
    count === 1 ? { calls: [{ name: 'fake__look', arguments: { q: SECRETS.argument } }] } : { text: SECRETS.answer },
  );
  const server = await startTestServer(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_SERVICE_NAME: 'tested',
      MODEL_BASE_URL: model.baseUrl,
      MODEL_NAME: 'tiny',
      ...env,
    },
    { fixtures: { tools: [{ group: 'Fixtures', tool: failing }] } },
  );
  const { must } = callsOf(server);
  await connectHttp(server, upstream.url, { toolPrefix: 'fake', headers: { 'X-Secret': SECRETS.header } });
  const agent = { name: 'ada', displayName: 'Ada', tools: ['fake__*'], instructions: SECRETS.instructions };
  await until(async () => (await guestNames(server)).includes('fake__look'));
  await must('create_agent', agent);
  const invoked = await callTool(
    server,
    server.adminKey,
    'invoke_agent',
    { agent: 'ada', input: SECRETS.prompt },
    META,
  );
  assert.ok('output' in invoked, JSON.stringify(invoked));
  return { receiver, server, model, upstream, upstreamCalls };
}

describe('a trace of a client', () => {
  let world: World;
  const spans = () => world.receiver.spans;
  const named = (name: string, trace = TRACE): SentSpan => {
    const found = spans().filter((span) => span.name === name && span.traceId === trace);
    assert.equal(found.length > 0, true, `${name} is not among ${spans().map((span) => span.name)}`);
    return found[0] as SentSpan;
  };
  const parentOf = (span: SentSpan) => spans().find(({ spanId }) => spanId === span.parentId)?.name;

  before(async () => {
    world = await startWorld();
    const { server } = world;
    const key = server.adminKey;
    const header = { traceparent: `00-${'a'.repeat(32)}-${CALLER}-01` };
    await rest(server, 'GET', `/api/v1/agents?status=paused`, { key, headers: header });
    await rest(server, 'GET', `/api/v1/search?q=${SECRETS.query}`, { key, headers: { traceparent: 'nonsense' } });
    await rest(server, 'POST', '/api/v1/agents', { key, body: { name: SECRETS.failure, wrong: SECRETS.failure } });
    await callTool(server, key, 'fail_now', { text: SECRETS.failure }, META);
    const { must } = callsOf(server);
    const flow = await must('create_flow', {
      name: 'look',
      steps: [{ id: 'one', tool: 'list_skills', arguments: {} }],
    });
    await callTool(server, key, 'trigger_flow', { id: flow.id }, META);
    await until(async () => (await must('list_flow_runs', { id: flow.id })).data[0]?.status === 'succeeded');
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/list', params: { _meta: META } };
    await rest(server, 'POST', '/api/v1/mcp', { key, body: message, headers: header });
    await server.stop();
  });

  it('goes on from the client through the door, the tool and the agent to the model and to the other server', () => {
    const door = named('tools/call invoke_agent');
    assert.deepEqual([door.kind, door.parentId], ['server', CALLER]);
    assert.equal(door.attributes['mcp.method.name'], 'tools/call');
    assert.equal(door.attributes['gen_ai.tool.name'], 'invoke_agent');
    assert.equal(door.attributes['jsonrpc.request.id'], '1');
    const tool = named('execute_tool invoke_agent');
    assert.equal(parentOf(tool), 'tools/call invoke_agent');
    const agent = named('invoke_agent');
    assert.equal(parentOf(agent), 'execute_tool invoke_agent');
    assert.match(String(agent.attributes['gen_ai.agent.id']), /^agt_/);
    const chat = named('chat tiny');
    assert.deepEqual([chat.kind, parentOf(chat)], ['client', 'invoke_agent']);
    assert.equal(chat.attributes['gen_ai.provider.name'], 'custom');
    assert.equal(chat.attributes['gen_ai.request.model'], 'tiny');
    assert.ok(Number(chat.attributes['gen_ai.usage.input_tokens']) > 0);
    assert.deepEqual(chat.attributes['gen_ai.response.finish_reasons'], ['tool-calls']);
    assert.equal(parentOf(named('execute_tool fake__look')), 'invoke_agent');
    const upstream = named('tools/call look');
    assert.deepEqual([upstream.kind, parentOf(upstream)], ['client', 'execute_tool fake__look']);
    assert.equal(upstream.attributes['server.address'], '127.0.0.1');
    assert.equal(spans().filter(({ traceId, parentId }) => traceId === TRACE && parentId === '').length, 0);
  });

  it('has the transactions of the store, under the calls that make them', () => {
    const parents = spans().filter(({ name, traceId }) => name === 'transaction' && traceId === TRACE);
    assert.ok(parents.map(parentOf).includes('execute_tool invoke_agent'), JSON.stringify(parents.map(parentOf)));
    assert.equal(parents[0]?.attributes['db.operation.name'], 'transaction');
  });

  it('is passed on to the other server, in the message and in the headers, and to the model', () => {
    const { spanId } = named('tools/call look');
    const expected = `00-${TRACE}-${spanId}-01`;
    const [call] = world.upstreamCalls;
    assert.equal(call?.meta.traceparent, expected);
    assert.equal(call?.meta.tracestate, 'vendor=abc');
    assert.equal(call?.headers.traceparent, expected);
    const chats = spans().filter(({ name }) => name === 'chat tiny');
    const asked = world.model.requests.map(({ headers }) => headers.traceparent);
    assert.deepEqual(
      asked,
      chats.map((chat) => `00-${TRACE}-${chat.spanId}-01`),
    );
  });

  it('is taken from the headers over REST; one that is malformed is not continued', () => {
    const listed = named('GET /api/v1/agents', 'a'.repeat(32));
    assert.deepEqual([listed.kind, listed.parentId], ['server', CALLER]);
    assert.equal(listed.attributes['http.response.status_code'], 200);
    assert.equal(listed.attributes['http.route'], '/api/v1/agents');
    assert.equal(parentOf(named('execute_tool list_agents', 'a'.repeat(32))), 'GET /api/v1/agents');
    const search = spans().find(({ name }) => name === 'GET /api/v1/search');
    assert.equal(search?.parentId, '');
  });

  it('of a message counts more than that of the request, which it is linked to', () => {
    const listed = named('tools/list');
    assert.deepEqual([listed.parentId, listed.links], [CALLER, ['a'.repeat(32)]]);
  });

  it('is linked to the runs of flows that it begins, which have traces of their own', () => {
    const run = spans().find(({ name }) => name === 'invoke_workflow');
    assert.deepEqual([run?.parentId, run?.links], ['', [TRACE]]);
    assert.match(String(run?.attributes['agent_admin.flow_run.id']), /^[a-z]{3}_/);
    assert.equal(parentOf(named('execute_tool list_skills', run?.traceId)), 'invoke_workflow');
  });

  it('says of what failed the kind and nothing else, and the log has its ids', () => {
    const failed = named('execute_tool fail_now');
    assert.deepEqual([failed.isError, failed.attributes['error.type'], failed.message], [true, 'internal', '']);
    assert.equal(named('tools/call fail_now').attributes['error.type'], 'tool_error');
    const line = world.server.log.find(({ msg }) => msg === 'tool call failed');
    assert.deepEqual([line?.trace_id, line?.span_id], [TRACE, failed.spanId]);
    assert.equal(line?.requestId, failed.attributes['agent_admin.request.id']);
    const refused = spans().find(({ name, isError }) => name === 'execute_tool create_agent' && isError);
    assert.equal(refused?.attributes['error.type'], 'invalid_input');
  });

  it('and metrics and log hold nothing of prompts, arguments, answers and secrets', () => {
    const log = JSON.stringify(world.server.log);
    for (const [what, secret] of Object.entries(SECRETS)) {
      assert.equal(world.receiver.received().includes(secret), false, `${what} was sent`);
      assert.equal(log.includes(secret), false, `${what} is in the log`);
    }
    assert.equal(world.receiver.received().includes(world.server.adminKey), false);
  });

  it('comes under the name of the service, all of it once the server has ended, with the metrics', () => {
    assert.equal(world.receiver.resource['service.name'], 'tested');
    const { metrics } = world.receiver;
    const metric = (name: string) => metrics.find((each) => each.name === name) ?? assert.fail(name);
    const calls = metric('agent_admin.calls').points;
    const ofTool = (name: string) => calls.filter(({ attributes }) => attributes['gen_ai.tool.name'] === name);
    assert.deepEqual(pluck(ofTool('invoke_agent'), 'value'), [1]);
    assert.equal(ofTool('(integration)').length > 0, true);
    assert.equal(ofTool('fake__look').length, 0);
    const tokens = metric('gen_ai.client.token.usage');
    assert.deepEqual([tokens.unit, tokens.kind], ['{token}', 'histogram']);
    assert.equal(
      tokens.points.reduce((sum, { count = 0 }) => sum + count, 0),
      4,
    );
    assert.equal(metric('mcp.client.operation.duration').points[0]?.count, 1);
  });
});

it('content is in traces where it was asked for by name, and secrets are not', async () => {
  const { receiver, server } = await startWorld({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' });
  await server.stop();
  const [chat] = receiver.spans.filter(({ name }) => name === 'chat tiny');
  assert.match(String(chat?.attributes['gen_ai.system_instructions']), new RegExp(SECRETS.instructions));
  assert.match(String(chat?.attributes['gen_ai.input.messages']), new RegExp(SECRETS.prompt));
  const tool = receiver.spans.find(({ name }) => name === 'execute_tool fake__look');
  assert.match(String(tool?.attributes['gen_ai.tool.call.arguments']), new RegExp(SECRETS.argument));
  assert.match(String(tool?.attributes['gen_ai.tool.call.result']), new RegExp(SECRETS.result));
  assert.equal(receiver.received().includes(SECRETS.header), false);
});

describe('a collector', () => {
  it('that is away, refuses or hangs neither holds calls up nor the end of the server, and shows in the health', async () => {
    const receiver = await startOtlpReceiver();
    receiver.answer = 400;
    const server = await startTestServer({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    const { must } = callsOf(server);
    for (let n = 0; n < 180; n += 1) await must('list_agents'); // with three spans each, more than a batch
    const health = async () =>
      (await must('get_system_health')).integrations.find(({ name }: { name: string }) =>
        name.includes('OpenTelemetry'),
      );
    await until(async () => (await health()).status === 'degraded');
    assert.equal((await health()).name, `OpenTelemetry at ${receiver.url}`);
    assert.equal(server.log.filter(({ msg }) => msg === 'traces and metrics are not taken').length, 1);
    receiver.answer = 'hang';
    await must('list_agents');
    await server.stop();
  });

  it('gets nothing of traces that are not sampled, which are passed on as such', async () => {
    const world = await startWorld({ OTEL_TRACES_SAMPLER: 'always_off' });
    await world.server.stop();
    assert.deepEqual(world.receiver.spans, []);
    assert.match(world.upstreamCalls[0]?.meta.traceparent ?? '', new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  it('is not looked for where all is switched off, and no trace is passed on', async () => {
    const world = await startWorld({ OTEL_SDK_DISABLED: 'TRUE' });
    await world.server.stop();
    assert.equal(world.receiver.received().length, 0);
    assert.equal(world.upstreamCalls[0]?.meta?.traceparent, undefined);
    assert.equal(
      world.server.log.some((line) => 'trace_id' in line),
      false,
    );
  });
});
