import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { type ModelRequest, startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const vendor = await startModelServer();
const urls: string[] = [];
/** The address of the vendor decides the form of its paths, so requests to it are led to the loopback. */
const fetchThere: typeof fetch = (resource, init) => {
  urls.push(String(resource));
  const { pathname } = new URL(String(resource));
  return fetch(`${new URL(vendor.baseUrl).origin}${pathname}`, init);
};
const models = createModels({
  providers: [
    {
      ...{ name: 'acme', kind: 'azure', apiKey: 'azure-key', models: ['mine'] },
      ...{ baseUrl: 'https://acme.openai.azure.com/openai', fetch: fetchThere },
    },
  ],
});
const registry = await openTestRegistry(undefined, undefined, models);
const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
after(() => Promise.all([registry.close(), vendor.close()]));
await registry.must(admin, 'create_agent', {
  ...{ name: 'a', displayName: 'A', instructions: 'Be brief.', tools: ['list_skills', 'list_agents'] },
  ...{ modelPreference: 'acme/mine', temperature: 0.2, maxOutputTokens: 900, reasoningEffort: 'low' },
});
const say = () => registry.call(admin, 'send_chat_message', { message: 'What is there?', agentId: 'a' });

describe('an agent on a deployment of Azure', () => {
  it('calls tools at once and gets their results, in that vendor’s form', async () => {
    const calls = ['list_skills', 'list_agents'].map((name) => ({ name, arguments: { limit: 1 } }));
    vendor.play(({ messages }: ModelRequest) => ({
      ...(messages.at(-1)?.role === 'tool' ? { text: 'There is one.' } : { calls }),
      usage: {
        ...{ prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 },
        prompt_tokens_details: { cached_tokens: 8 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    }));
    const answer = await say();
    assert.ok('output' in answer, JSON.stringify(answer));
    // biome-ignore lint/suspicious/noExplicitAny: the test looks into outputs freely
    const { message, toolCalls, usage, model } = answer.output as any;
    assert.deepEqual([message.content, model], ['There is one.', 'acme/mine']);
    assert.deepEqual(
      toolCalls.map((each: { tool: string; ok: boolean }) => [each.tool, each.ok]),
      [
        ['list_skills', true],
        ['list_agents', true],
      ],
    );
    assert.deepEqual(usage, { inputTokens: 40, outputTokens: 16, cachedInputTokens: 16, reasoningTokens: 6 });
    assert.equal(urls.at(-1), 'https://acme.openai.azure.com/openai/v1/chat/completions?api-version=v1');
    const { headers, authorization, body } = vendor.requests.at(-1) ?? assert.fail();
    assert.deepEqual([headers['api-key'], authorization], ['azure-key', undefined]);
    assert.deepEqual([body.model, body.stream, body.stream_options], ['mine', true, { include_usage: true }]);
    assert.deepEqual([body.temperature, body.max_tokens, body.reasoning_effort], [0.2, 900, 'low']);
    assert.match(body.messages[0].content, /Be brief\./);
    assert.deepEqual(
      body.messages.slice(-2).map((each: { role: string; tool_call_id?: string }) => [each.role, each.tool_call_id]),
      body.messages.at(-3).tool_calls.map(({ id }: { id: string }) => ['tool', id]),
    );
  });

  it('says what is wrong with its key, and does not show it', async () => {
    vendor.play(() => ({ status: 401 }));
    const answer = await say();
    assert.ok('error' in answer);
    assert.match(answer.error.error, /^The model acme\/mine refused the key it was given \(401\)/);
    assert.ok(!JSON.stringify(answer).includes('azure-key'));
  });

  it('is asked again where its answer breaks off', async () => {
    let count = 0;
    vendor.play(() => {
      count += 1;
      return { text: 'There is one.', ...(count === 1 && { cut: 'stream' as const }) };
    });
    const answer = await say();
    assert.ok('output' in answer, JSON.stringify(answer));
    assert.equal(count, 2);
  });
});
