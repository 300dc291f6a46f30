import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { type Reply, startModelServer } from '../support/model-server.ts';
import { startTestServer } from '../support/server.ts';

const first = await startModelServer(['one']);
const second = await startModelServer(['two']);
const server = await startTestServer();
const { must, refused } = callsOf(server);
const kind = 'openai-compatible';
const prices = [{ model: 'two', from: '2020-01-01', currency: 'USD', input: 1_000_000, output: 1_000_000 }];
await must('create_model_provider', { name: 'a', kind, baseUrl: first.baseUrl });
await must('create_model_provider', {
  name: 'b',
  kind,
  baseUrl: second.baseUrl,
  prices,
  models: [{ name: 'two', maxOutputTokens: 50 }],
});
const agent = await must('create_agent', {
  name: 'twice',
  displayName: 'Twice',
  modelPreference: 'a/one',
  fallbackModels: ['b/two'],
  temperature: 0.25,
  maxOutputTokens: 77,
  reasoningEffort: 'low',
  timeoutSeconds: 1,
});
const busy = (status: number): Reply => ({ status, headers: { 'x-should-retry': 'false' } });
const ask = (more: object = {}) => must('invoke_agent', { agent: agent.id, input: 'Hello', ...more });

let count = 0;
let model = '';

// Each with a provider of its own, because one that fails again and again is left alone.
beforeEach(async () => {
  count += 1;
  model = `a${count}/one`;
  await must('create_model_provider', { name: `a${count}`, kind, baseUrl: first.baseUrl });
  await must('update_agent', { id: agent.id, modelPreference: model });
  first.play(() => ({ text: 'From one.' }));
  second.play(() => ({ text: 'From two.' }));
});

describe('the settings of an agent', () => {
  it('reach the provider', async () => {
    await ask();
    const { body } = first.requests.at(-1) ?? {};
    assert.deepEqual([body.temperature, body.max_tokens, body.reasoning_effort], [0.25, 77, 'low']);
  });

  it('are in its versions, and leave it with null', async () => {
    const { id } = await must('create_agent', {
      name: 'plain',
      displayName: 'P',
      temperature: 1,
      fallbackModels: ['b/two'],
    });
    await must('update_agent', { id, temperature: null, fallbackModels: [] });
    const { data } = await must('list_versions', { entityType: 'agent', entityId: id });
    await must('restore_version', { entityType: 'agent', entityId: id, versionId: data.at(-1).id });
    const restored = await must('get_agent', { id });
    assert.deepEqual([restored.temperature, restored.fallbackModels], [1, ['b/two']]);
  });
});

describe('a fallback', () => {
  for (const [status, reason] of [
    [429, 'overloaded'],
    [529, 'overloaded'],
    [503, 'failed'],
  ] as const) {
    it(`is taken where the model answers ${status}, and said in answer and run`, async () => {
      first.play(() => busy(status));
      const answer = await ask();
      assert.deepEqual([answer.text, answer.model], ['From two.', 'b/two']);
      assert.deepEqual(answer.fallbacks, [{ model, reason, turn: 1 }]);
      const run = await must('get_agent_run', { id: answer.runId });
      assert.deepEqual(
        [run.turns.map(({ model }: { model: string }) => model), run.fallbacks],
        [['b/two'], answer.fallbacks],
      );
      assert.equal(second.requests.at(-1)?.body.max_tokens, 50);
    });
  }

  it('is taken where the model is silent for longer than timeoutSeconds', async () => {
    first.play(() => 'hang');
    const { text, fallbacks } = await ask();
    assert.deepEqual([text, fallbacks[0].reason], ['From two.', 'timeout']);
  });

  it('is never taken once the model said something', async () => {
    first.play(() => ({ text: 'Half an answer', pace: 30, cut: 'connection' }));
    const asked = second.requests.length;
    assert.equal((await refused('invoke_agent', { agent: agent.id, input: 'Hello' })).code, 'unavailable');
    let times = 0;
    first.play(() => {
      times += 1;
      return times > 1 ? busy(503) : { text: 'Half an answer', pace: 30, cut: 'connection' };
    });
    assert.equal((await refused('invoke_agent', { agent: agent.id, input: 'Hello' })).code, 'unavailable');
    assert.equal(times, 2);
    assert.equal(second.requests.length, asked);
  });

  it('is not taken for a refusal of the request', async () => {
    const asked = second.requests.length;
    first.play(() => busy(400));
    assert.equal((await refused('invoke_agent', { agent: agent.id, input: 'Hello' })).code, 'unavailable');
    assert.equal(second.requests.length, asked);
  });

  it('is taken where the call names the model, unless the call names other ones or none', async () => {
    first.play(() => busy(503));
    await must('update_agent', { id: agent.id, modelPreference: 'b/two' });
    const answer = await ask({ model });
    assert.deepEqual([answer.model, answer.fallbacks], ['b/two', [{ model, reason: 'failed', turn: 1 }]]);
    const none = { agentId: agent.id, message: 'Hello', model, fallbackModels: [] };
    assert.equal((await refused('send_chat_message', none)).code, 'unavailable');
    assert.equal((await ask({ model, fallbackModels: ['offline/rehearsal'] })).model, 'offline/rehearsal');
    const unknown = await refused('invoke_agent', {
      agent: agent.id,
      input: 'Hello',
      fallbackModels: ['b/two', 'x/y'],
    });
    assert.deepEqual([unknown.code, unknown.issues?.[0]?.path], ['invalid_input', 'fallbackModels[1]']);
  });

  it('stays for the next turns of the run, in chats too, and counts for its own model', async () => {
    first.play(() => busy(429));
    const asked = first.requests.length;
    second.play(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls: [{ name: 'list_skills', arguments: {} }] },
    );
    await must('update_agent', { id: agent.id, tools: ['list_skills'] });
    const answer = await must('send_chat_message', { message: 'Look', agentId: agent.id });
    assert.deepEqual([answer.message.content, answer.model], ['Done.', 'b/two']);
    assert.equal(first.requests.length, asked + 1);
    const { rows } = await must('get_usage', { by: 'model' });
    const used = rows.find(({ key }: { key: string }) => key === 'b/two');
    assert.ok(used.cost > 0, JSON.stringify(rows));
  });
});
