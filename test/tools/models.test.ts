import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, describe, it } from 'node:test';
import { generateText } from 'ai';
import { readConfig } from '../../facade/config/config.ts';
import { createModels } from '../../tools/models/models.ts';
import { callsOf, rest } from '../support/calls.ts';
import { onLoopback } from '../support/loopback.ts';
import { startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer(['tiny', 'meta/large']);

const custom = (baseUrl: string) => ({ kind: 'custom' as const, baseUrl, apiKey: 'sk-secret', models: ['tiny'] });

describe('list_models', () => {
  it('shows the built-in model alone where no provider is configured', async () => {
    const server = await startTestServer();
    const { must } = callsOf(server);
    const { data } = await must('list_models');
    assert.deepEqual(pluck(data, 'id', 'available'), [['offline/rehearsal', true]]);
  });

  it('shows what the configured provider lists, and starts a new workspace on its model', async () => {
    const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
    const { must } = callsOf(server);
    const { body } = await rest(server, 'GET', '/api/v1/agents/models', { key: server.adminKey });
    assert.deepEqual(pluck(body.data, 'id', 'available'), [
      ['offline/rehearsal', true],
      ['custom/tiny', true],
      ['custom/meta/large', true],
    ]);
    assert.equal((await must('get_bot_config')).defaultModel, 'custom/tiny');
    const { defaultModel } = await must('update_bot_config', { defaultModel: 'custom/meta/large' });
    assert.equal(defaultModel, 'custom/meta/large');
    const { integrations } = await must('get_system_health');
    assert.deepEqual(integrations[1].name, 'custom');
  });

  it('keeps the configured model of a provider that is down, as not available, and says so in health', async () => {
    const models = createModels({ providers: [custom('http://127.0.0.1:1/v1')] });
    const list = await models.list();
    assert.deepEqual(pluck(list, 'id', 'available'), [
      ['offline/rehearsal', true],
      ['custom/tiny', false],
    ]);
    const [health] = await models.health();
    assert.deepEqual([health?.status, health?.lastError], ['down', 'it could not be reached']);
    assert.ok(!JSON.stringify([list, health]).includes('sk-secret'));
  });

  it('takes a server without a list of models for one that is up', async () => {
    const bare = await startModelServer(undefined);
    const models = createModels({ providers: [custom(bare.baseUrl)] });
    assert.deepEqual((await models.list())[1]?.available, true);
  });
});

describe('models', () => {
  it('are found by provider and name, with slashes in the name', () => {
    const models = createModels({ providers: [custom(provider.baseUrl)] });
    assert.equal(models.find('custom/meta/large')?.modelId, 'meta/large');
    for (const id of ['openai/gpt-5', 'custom/', 'custom', 'gpt-5', '']) assert.equal(models.find(id), undefined, id);
  });

  it('are asked again after a 429 within bounds, and not where the provider asks for too long a wait', async () => {
    const model = createModels({ providers: [custom(provider.baseUrl)] }).find('custom/tiny');
    assert.ok(model);
    const before = provider.requests.length;
    provider.play((_, count) =>
      count - before < 2 ? { status: 429, headers: { 'Retry-After': '1' } } : { text: 'Hi.' },
    );
    const started = performance.now();
    const stream = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] });
    let text = '';
    for await (const part of stream.stream) if (part.type === 'text-delta') text += part.delta;
    assert.equal(text, 'Hi.');
    assert.ok(performance.now() - started >= 990);
    assert.equal(provider.requests.at(-1)?.authorization, 'Bearer sk-secret');
    const asked = provider.requests.length;
    provider.play(() => ({ status: 429, headers: { 'Retry-After': '3600' } }));
    await assert.rejects(async () => model.doStream({ prompt: [] }));
    assert.equal(provider.requests.length, asked + 1);
  });

  it('of Anthropic and OpenAI are asked as these vendors want it', async () => {
    const seen: { url: string | undefined; headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
    const vendor = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      seen.push({ url: request.url, headers: request.headers, body });
      response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error": {"message": "no"}}');
    });
    const baseUrl = `${(await onLoopback(vendor)).url}/v1`;
    const models = createModels({
      providers: [
        { kind: 'anthropic', apiKey: 'sk-ant', baseUrl },
        { kind: 'openai', apiKey: 'sk-oai', baseUrl },
      ],
    });
    for (const id of ['anthropic/claude', 'openai/gpt-5']) {
      const model = models.find(id);
      assert.ok(model);
      await assert.rejects(generateText({ model, prompt: 'x', maxOutputTokens: 50, maxRetries: 0 }));
    }
    vendor.close();
    assert.deepEqual(pluck(seen, 'url'), ['/v1/messages', '/v1/chat/completions']);
    assert.equal(seen[0]?.headers['x-api-key'], 'sk-ant');
    assert.equal(seen[1]?.headers.authorization, 'Bearer sk-oai');
    assert.deepEqual(
      [JSON.parse(seen[1]?.body ?? '').max_completion_tokens, seen[1]?.body.includes('max_tokens')],
      [50, false],
    );
  });
});

describe('the configuration of models', () => {
  const wrong: readonly Record<string, string>[] = [
    { MODEL_API_KEY: 'x' },
    { MODEL_NAME: 'tiny' },
    { MODEL_NAME: 'openai/gpt-5' },
    { MODEL_NAME: 'openai/', OPENAI_API_KEY: 'x' },
    { MODEL_BASE_URL: 'localhost:11434' },
  ];
  for (const env of wrong) {
    it(`refuses ${JSON.stringify(env)}`, () => assert.throws(() => readConfig(env), /MODEL_/));
  }

  it('takes a vendor and the model to begin with', () => {
    const { models } = readConfig({ ANTHROPIC_API_KEY: 'x', MODEL_NAME: 'anthropic/claude-sonnet-4-5' });
    assert.equal(models.initial, 'anthropic/claude-sonnet-4-5');
    assert.deepEqual(models.providers, [{ kind: 'anthropic', apiKey: 'x', models: ['claude-sonnet-4-5'] }]);
  });
});

type Events = readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[];

const begin = (block: object): Events => [
  {
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'x',
      content: [],
      usage: { input_tokens: 7, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: block },
];
const delta = (delta: object): Events => [{ type: 'content_block_delta', index: 0, delta }];
const end = (reason: string): Events => [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
];

const call: Events = [
  ...begin({ type: 'tool_use', id: 'toolu_1', name: 'list_skills', input: {} }),
  ...delta({ type: 'input_json_delta', partial_json: '{"limit"' }),
  ...delta({ type: 'input_json_delta', partial_json: ': 1}' }),
  ...end('tool_use'),
];
const unfinished: Events = [
  ...begin({ type: 'text', text: '' }),
  ...delta({ type: 'text_delta', text: 'There are none.' }),
];
const words: Events = [...unfinished, ...end('end_turn')];

/** What the model says next, in the wire format of Anthropic's messages. */
let script: Events[] = [];
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely
const bodies: any[] = [];
const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });

const vendor = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  bodies.push(JSON.parse(body));
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const event of script.shift() ?? []) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
});
const registry = await openTestRegistry(
  undefined,
  undefined,
  createModels({ providers: [{ kind: 'anthropic', apiKey: 'sk-ant', baseUrl }] }),
);
await registry.call(admin, 'create_agent', { name: 'a', displayName: 'A', tools: ['list_skills'] });
after(async () => {
  await registry.close();
  vendor.close();
});

const say = (message: string) =>
  registry.call(admin, 'send_chat_message', { message, agentId: 'a', model: 'anthropic/claude' });

describe('an agent on a model of Anthropic', () => {
  it('calls tools and gets their results, in that vendor’s form', async () => {
    script = [call, words];
    const answer = await say('Any?');
    assert.ok('output' in answer, JSON.stringify(answer));
    assert.deepEqual(answer.output.toolCalls, [
      { id: 'toolu_1', tool: 'list_skills', arguments: { limit: 1 }, ok: true },
    ]);
    assert.deepEqual(answer.output.usage, { inputTokens: 14, outputTokens: 8 });
    const { messages, max_tokens, tools } = bodies.at(-1);
    assert.deepEqual([max_tokens, tools[0].name], [4096, 'list_skills']);
    assert.deepEqual(
      messages.map(({ role, content }: { role: string; content: { type: string }[] }) => [role, content[0]?.type]),
      [
        ['user', 'text'],
        ['assistant', 'tool_use'],
        ['user', 'tool_result'],
      ],
    );
  });

  it('has failed where the stream ends before the answer does', async () => {
    script = [unfinished];
    const answer = await say('Any?');
    assert.ok('error' in answer && answer.error.code === 'unavailable');
    assert.match(answer.error.error, /ended before its answer was complete/);
  });
});
