import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { onLoopback } from '../support/loopback.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

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
const baseUrl = `${(await onLoopback(vendor)).url}/v1`;
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
