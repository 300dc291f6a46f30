import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { type BedrockEvent, startBedrockServer } from '../support/bedrock-server.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const vendor = await startBedrockServer();
const MODEL = 'eu.anthropic.claude-sonnet-4-20250514-v1:0';
const models = createModels({
  providers: [{ name: 'aws', kind: 'bedrock', apiKey: 'bedrock-key', baseUrl: vendor.baseUrl, models: [MODEL] }],
});
const registry = await openTestRegistry(undefined, undefined, models);
const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
after(() => Promise.all([registry.close(), vendor.close()]));
await registry.must(admin, 'create_agent', {
  ...{ name: 'b', displayName: 'B', instructions: 'Be brief.', tools: ['list_skills', 'list_agents'] },
  ...{ modelPreference: `aws/${MODEL}`, temperature: 0.2, maxOutputTokens: 900 },
});
const say = () => registry.call(admin, 'send_chat_message', { message: 'What is there?', agentId: 'b' });

const begin: BedrockEvent = ['messageStart', { role: 'assistant' }];
const words = (text: string): BedrockEvent => ['contentBlockDelta', { contentBlockIndex: 0, delta: { text } }];
const call = (at: number, name: string, json: string): BedrockEvent[] => [
  ['contentBlockStart', { contentBlockIndex: at, start: { toolUse: { toolUseId: `tooluse_${name}`, name } } }],
  ['contentBlockDelta', { contentBlockIndex: at, delta: { toolUse: { input: json.slice(0, 4) } } }],
  ['contentBlockDelta', { contentBlockIndex: at, delta: { toolUse: { input: json.slice(4) } } }],
  ['contentBlockStop', { contentBlockIndex: at }],
];
const end = (stopReason: string): BedrockEvent[] => [
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['messageStop', { stopReason }],
  [
    'metadata',
    {
      usage: { inputTokens: 12, outputTokens: 8, totalTokens: 28, cacheReadInputTokens: 6, cacheWriteInputTokens: 2 },
      metrics: { latencyMs: 5 },
    },
  ],
];

describe('an agent on a model of Amazon Bedrock', () => {
  it('calls tools at once and gets their results, in that vendor’s form', async () => {
    vendor.plays(
      [
        begin,
        ...call(0, 'list_skills', '{"limit":1}'),
        ...call(1, 'list_agents', '{"limit":2}'),
        ...end('tool_use').slice(1),
      ],
      [begin, words('There is '), words('one.'), ...end('end_turn')],
    );
    const answer = await say();
    assert.ok('output' in answer, JSON.stringify(answer));
    // biome-ignore lint/suspicious/noExplicitAny: the test looks into outputs freely
    const { message, toolCalls, usage } = answer.output as any;
    assert.equal(message.content, 'There is one.');
    assert.deepEqual(
      toolCalls.map((each: { tool: string; arguments: object; ok: boolean }) => [each.tool, each.arguments, each.ok]),
      [
        ['list_skills', { limit: 1 }, true],
        ['list_agents', { limit: 2 }, true],
      ],
    );
    assert.deepEqual(usage, { inputTokens: 40, outputTokens: 16, cachedInputTokens: 12, cacheWriteTokens: 4 });
    const [first, second] = vendor.requests.slice(-2);
    assert.equal(first?.path, `/model/${encodeURIComponent(MODEL)}/converse-stream`);
    assert.equal(first?.authorization, 'Bearer bedrock-key');
    const { system, messages, inferenceConfig, toolConfig } = first?.body ?? {};
    assert.match(system[0].text, /Be brief\./);
    assert.equal(messages[0].role, 'user');
    assert.deepEqual([inferenceConfig.maxTokens, inferenceConfig.temperature], [900, 0.2]);
    assert.deepEqual(toolConfig.tools.map(({ toolSpec }: { toolSpec: { name: string } }) => toolSpec?.name).sort(), [
      'list_agents',
      'list_skills',
    ]);
    assert.ok(toolConfig.tools[0].toolSpec.inputSchema.json.type === 'object');
    const last = second?.body.messages.slice(-2);
    assert.deepEqual(
      last.map(({ role, content }: { role: string; content: object[] }) => [
        role,
        content.map((part) => Object.keys(part)[0]),
      ]),
      [
        ['assistant', ['toolUse', 'toolUse']],
        ['user', ['toolResult', 'toolResult']],
      ],
    );
  });

  it('says what is wrong with its key, and does not show it', async () => {
    vendor.plays({ status: 403, type: 'AccessDeniedException' });
    const answer = await say();
    assert.ok('error' in answer);
    assert.match(answer.error.error, /refused the key it was given \(403\)/);
    assert.ok(!JSON.stringify(answer).includes('bedrock-key'));
  });

  it('is asked again where its answer breaks off or is throttled in the middle', async () => {
    const asked = vendor.requests.length;
    vendor.plays(
      [begin, words('There is ')],
      [begin, words('There '), ['throttlingException', { message: 'Slow down.' }]],
      [begin, words('There is one.'), ...end('end_turn')],
    );
    const answer = await say();
    assert.ok('output' in answer, JSON.stringify(answer));
    assert.equal((answer.output as { message: { content: string } }).message.content, 'There is one.');
    assert.equal(vendor.requests.length, asked + 3);
  });
});
