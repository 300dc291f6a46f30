import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { onLoopback } from '../support/loopback.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

interface Asked {
  readonly path: string;
  readonly key: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the test looks into bodies freely
  readonly body: any;
}

const asked: Asked[] = [];
let script: (object[] | number)[] = [];

/** A server of Gemini's `streamGenerateContent`, whose part the test plays: pieces of an answer, or a status. */
const vendor = await onLoopback(
  createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { url = '', headers } = request;
    asked.push({ path: url, key: headers['x-goog-api-key'] as string | undefined, body: JSON.parse(text) });
    const next = script.shift() ?? [];
    if (typeof next === 'number') {
      const error = { code: next, message: 'No.', status: 'PERMISSION_DENIED' };
      return void response.writeHead(next, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error }));
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const piece of next) response.write(`data: ${JSON.stringify(piece)}\r\n\r\n`);
    response.end();
  }),
);

const piece = (...parts: object[]) => ({ candidates: [{ content: { role: 'model', parts }, index: 0 }] });
const usageMetadata = {
  ...{ promptTokenCount: 20, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 28 },
  cachedContentTokenCount: 8,
};
const end = {
  candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' }],
  usageMetadata,
};

const baseUrl = `${vendor.url}/v1beta`;
const models = createModels({ providers: [{ name: 'gemini', kind: 'google', apiKey: 'goog-key', baseUrl }] });
const registry = await openTestRegistry(undefined, undefined, models);
const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
after(() => Promise.all([registry.close(), vendor.close()]));
await registry.call(admin, 'create_agent', {
  ...{ name: 'g', displayName: 'G', instructions: 'Be brief.', tools: ['list_skills', 'list_agents'] },
  ...{ temperature: 0.2, maxOutputTokens: 900 },
});

const say = (message: string) =>
  registry.call(admin, 'send_chat_message', { message, agentId: 'g', model: 'gemini/gemini-2.5-flash' });

describe('an agent on a model of Google', () => {
  it('calls tools at once and gets their results, in that vendor’s form', async () => {
    const call = (name: string, args: object) => ({ functionCall: { name, args } });
    script = [
      [piece(call('list_skills', { limit: 1 }), call('list_agents', { limit: 2 })), end],
      [piece({ text: 'There is ' }), piece({ text: 'one.' }), end],
    ];
    const answer = await say('What is there?');
    assert.ok('output' in answer, JSON.stringify(answer));
    const { message, toolCalls, usage } = answer.output as {
      message: { content: string };
      toolCalls: { tool: string; arguments: object; ok: boolean }[];
      usage: object;
    };
    assert.equal(message.content, 'There is one.');
    assert.deepEqual(
      toolCalls.map((each) => [each.tool, each.arguments, each.ok]),
      [
        ['list_skills', { limit: 1 }, true],
        ['list_agents', { limit: 2 }, true],
      ],
    );
    assert.deepEqual(usage, { inputTokens: 40, outputTokens: 16, cachedInputTokens: 16, reasoningTokens: 6 });

    const [first, second] = asked.slice(-2);
    assert.equal(first?.path, '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    assert.equal(first?.key, 'goog-key');
    const { contents, systemInstruction, generationConfig, tools } = first?.body ?? {};
    assert.match(systemInstruction.parts[0].text, /Be brief\./);
    assert.deepEqual([generationConfig.maxOutputTokens, generationConfig.temperature], [900, 0.2]);
    assert.deepEqual(tools[0].functionDeclarations.map(({ name }: { name: string }) => name).sort(), [
      'list_agents',
      'list_skills',
    ]);
    assert.equal(contents[0].role, 'user');
    assert.deepEqual(
      second?.body.contents
        .slice(-2)
        .map(({ role, parts }: { role: string; parts: object[] }) => [role, parts.map((part) => Object.keys(part)[0])]),
      [
        ['model', ['functionCall', 'functionCall']],
        ['user', ['functionResponse', 'functionResponse']],
      ],
    );
  });

  it('says what is wrong with its key', async () => {
    script = [403];
    const answer = await say('Hello');
    assert.ok('error' in answer);
    assert.match(answer.error.error, /refused the key it was given \(403\)/);
    assert.ok(!answer.error.error.includes('goog-key'));
  });

  it('is asked again where its answer breaks off', async () => {
    script = [[piece({ text: 'There is ' })], [piece({ text: 'one.' }), end]];
    const answer = await say('What is there?');
    assert.ok('output' in answer);
    assert.equal((answer.output as { message: { content: string } }).message.content, 'one.');
  });
});
