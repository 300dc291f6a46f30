import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import OpenAI from 'openai';
import { callsOf } from '../support/calls.ts';
import { startModelServer } from '../support/model-server.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must } = callsOf(server);
await must('create_agent', { name: 'ada', displayName: 'Ada', tools: ['list_skills', 'create_skill'] });
after(() => provider.close());
const client = new OpenAI({ apiKey: server.adminKey, baseURL: `${server.baseUrl}/api/v1/openai`, maxRetries: 0 });
const hello: OpenAI.ChatCompletionCreateParamsStreaming = {
  ...{ model: 'ada', stream: true },
  messages: [{ role: 'user', content: 'Hi' }],
};

async function textOf(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string> {
  let text = '';
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
  return text;
}

describe('a streamed chat completion', () => {
  it('goes on after a turn that broke off where that begins again as it did, and ends where it does not', async () => {
    const cut = { text: 'There are three of them', cut: 'stream', pace: 30 } as const;
    const streamed = (again: Parameters<typeof provider.play>[0]) => {
      const before = provider.requests.length;
      provider.play((request, count) => (count === before + 1 ? cut : again(request, count)));
      return client.chat.completions.create(hello).then(textOf);
    };
    for (const rest of ['', ', as you know.'])
      assert.equal(await streamed(() => ({ text: `${cut.text}${rest}`, pace: 10 })), `${cut.text}${rest}`);
    let asked = 0;
    const twice = streamed(() => {
      asked += 1;
      return asked === 1 ? { text: 'There are', cut: 'stream' } : { text: `${cut.text} in all.` };
    });
    assert.equal(await twice, `${cut.text} in all.`);
    const calls = [{ name: 'list_skills', arguments: { limit: 1 } }];
    const after = await streamed(({ messages }) =>
      messages.at(-1)?.role === 'user' ? { text: cut.text, calls } : { text: 'Here.' },
    );
    assert.equal(after, `${cut.text}\n\nHere.`);
    const made = [{ name: 'create_skill', arguments: { name: 'made', displayName: 'Made', instructions: 'Be.' } }];
    for (const again of [{ text: 'There is none.' }, { text: 'There are' }, { text: 'There', calls: made }]) {
      await assert.rejects(
        streamed(() => again),
        /cut off|broke off/,
        JSON.stringify(again),
      );
    }
    assert.deepEqual((await must('list_skills')).data, [], 'what is given up calls nothing more');
  });
});
