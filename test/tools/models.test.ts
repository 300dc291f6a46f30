import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { generateText } from 'ai';
import { readConfig } from '../../facade/config/config.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { callsOf, rest } from '../support/calls.ts';
import { onLoopback } from '../support/loopback.ts';
import { startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
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
