import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { type AnthropicEvents, begin, delta, end, startAnthropicServer } from '../support/anthropic-server.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const call: AnthropicEvents = [
  ...begin({ type: 'tool_use', id: 'toolu_1', name: 'list_skills', input: {} }),
  ...delta({ type: 'input_json_delta', partial_json: '{"limit"' }),
  ...delta({ type: 'input_json_delta', partial_json: ': 1}' }),
  ...end('tool_use'),
];
const unfinished: AnthropicEvents = [
  ...begin({ type: 'text', text: '' }),
  ...delta({ type: 'text_delta', text: 'There are none.' }),
];
const said: AnthropicEvents = [...unfinished, ...end('end_turn')];

const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });

const vendor = await startAnthropicServer();
const { bodies, baseUrl } = vendor;
const registry = await openTestRegistry(
  undefined,
  undefined,
  createModels({ providers: [{ kind: 'anthropic', apiKey: 'sk-ant', baseUrl }] }),
);
await registry.call(admin, 'create_agent', { name: 'a', displayName: 'A', tools: ['list_skills'] });
after(() => Promise.all([registry.close(), vendor.close()]));

const say = (message: string, threadId?: string) =>
  registry.call(admin, 'send_chat_message', { message, agentId: 'a', model: 'anthropic/claude', threadId });

type Body = { messages: { content: { cache_control?: object }[] }[] };

/** Places of marked blocks, by message and block. */
function marksIn({ messages }: Body): string[] {
  return messages.flatMap(({ content }, at) =>
    content.flatMap((block, place) => (block.cache_control ? [`${at}.${place}`] : [])),
  );
}

async function must(called: ReturnType<typeof say>): Promise<unknown> {
  const answer = await called;
  return 'output' in answer ? answer.output : assert.fail(JSON.stringify(answer.error));
}

describe('an agent on a model of Anthropic', () => {
  it('calls tools and gets their results, in that vendor’s form', async () => {
    vendor.plays(call, said);
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

  it('marks what is the same in the next turn for the cache, four times at most', async () => {
    vendor.plays(call, said, said);
    const { threadId } = (await must(say('Any?'))) as { threadId: string };
    await must(say('And now?', threadId));
    const [first, second, third] = bodies.slice(-3);
    for (const body of [first, second, third]) {
      assert.deepEqual(body.tools.at(-1).cache_control, { type: 'ephemeral' });
      assert.deepEqual(body.system.at(-1).cache_control, { type: 'ephemeral' });
    }
    assert.deepEqual([first, second, third].map(marksIn), [[], ['2.0'], ['3.0']]);
    assert.equal(third.messages[4].role, 'user');
  });

  it('has failed where the stream ends before the answer does', async () => {
    vendor.plays(unfinished);
    const answer = await say('Any?');
    assert.ok('error' in answer && answer.error.code === 'unavailable');
    assert.match(answer.error.error, /ended before its answer was complete/);
  });
});

describe('an answer of Anthropic that breaks off', () => {
  type Said = { readonly output: { readonly message: { readonly content: string }; readonly toolCalls: unknown[] } };

  it('after any of its events is asked for again, and its calls are made once', async () => {
    for (const [whole, calls] of [
      [said, 0],
      [call, 1],
    ] as const) {
      for (let events = 0; events < whole.length; events += 1) {
        const before = bodies.length;
        vendor.plays(whole.slice(0, events), whole, ...(calls > 0 ? [said] : []));
        const { output } = (await say(`cut after ${events}`)) as Said;
        assert.equal(output.message.content, 'There are none.', `cut after ${events}`);
        assert.deepEqual([output.toolCalls.length, bodies.length - before], [calls, 2 + calls], `cut after ${events}`);
      }
    }
  });

  it('by an overloaded server is asked for again', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    for (const cut of [[error], [...begin({ type: 'text', text: '' }), error], [...unfinished, error]]) {
      vendor.plays(cut, said);
      assert.equal(((await say('Hello')) as Said).output.message.content, 'There are none.');
    }
  });
});
