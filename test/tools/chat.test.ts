import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { callsOf, callTool, makeKey, type RestOptions, rest } from '../support/calls.ts';
import { openEvents } from '../support/events.ts';
import { type Reply, startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const { must } = callsOf(server);
const chat = (body: object, options: RestOptions = {}) =>
  rest(server, 'POST', '/api/v1/chat', { key: server.adminKey, body, ...options });
const told = async (id: string) =>
  pluck((await must('list_messages', { id, order: 'oldest', limit: 100 })).data, 'role', 'content');
const runOf = (id: string) => server.store.agentRuns.get(id);

let count = 0;
async function makeAgent(members: object = {}): Promise<string> {
  count += 1;
  return (await must('create_agent', { name: `agent-${count}`, displayName: 'Ada', ...members })).id;
}

describe('send_chat_message', () => {
  it('starts a thread that is titled from the message and owned by the caller, and answers', async () => {
    const agentId = await makeAgent();
    const message = `What   is\nnew? ${'long '.repeat(40)}`;
    const { status, body } = await chat({ message, agentId });
    assert.equal(status, 200);
    assert.deepEqual([body.message.content, body.message.role, body.stopReason], ['Hello.', 'assistant', 'end']);
    assert.deepEqual([body.usage, body.toolCalls], [{ inputTokens: 10, outputTokens: 5 }, []]);
    assert.deepEqual([body.agentId, body.message.agentId, body.model], [agentId, agentId, 'custom/tiny']);
    const thread = await must('get_thread', { id: body.threadId });
    assert.deepEqual([thread.source, thread.messageCount, thread.agentIds], ['chat', 2, [agentId]]);
    assert.match(thread.title, /^What is new\? long .*…$/);
    assert.deepEqual(await told(body.threadId), [
      ['user', message.trim()],
      ['assistant', 'Hello.'],
    ]);
    const run = await runOf(body.runId);
    assert.deepEqual([run?.status, run?.threadId, run?.steps], ['succeeded', body.threadId, 1]);
    const overMcp = await must('send_chat_message', { message, agentId });
    assert.equal((await must('get_thread', { id: overMcp.threadId })).source, 'mcp');
  });

  it('goes on in a thread: the model gets what was said and what the tools answered', async () => {
    const agentId = await makeAgent({ tools: ['list_skills'], instructions: 'Be brief.' });
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { text: 'Let me look.', calls: [{ name: 'list_skills', arguments: { limit: 1 } }] }
        : { text: 'There are none.' },
    );
    const first = (await chat({ message: 'Which skills?', agentId })).body;
    assert.deepEqual(first.toolCalls, [{ id: 'c2_0', tool: 'list_skills', arguments: { limit: 1 }, ok: true }]);
    assert.deepEqual(first.usage, { inputTokens: 20, outputTokens: 10 });
    provider.play(() => ({ text: 'Yes.' }));
    const second = await must('send_chat_message', { message: 'Sure?', threadId: first.threadId });
    assert.equal(second.agentId, agentId);
    const { messages, tools, body } = provider.requests.at(-1) ?? assert.fail();
    assert.deepEqual(tools, ['list_skills']);
    assert.equal(body.max_tokens, 4096);
    assert.match(messages[0]?.content ?? '', /Be brief\./);
    assert.deepEqual(
      messages.slice(1).map(({ role, toolCalls, toolCallId }) => [role, toolCalls[0]?.id ?? toolCallId]),
      [
        ['user', undefined],
        ['assistant', 'c2_0'],
        ['tool', 'c2_0'],
        ['assistant', undefined],
        ['user', undefined],
      ],
    );
    assert.match(messages[3]?.content ?? '', /^<data kind="result" id="list_skills">\n\{"data":\[\]/);
    assert.deepEqual(
      (await told(first.threadId)).map(([role]) => role),
      ['user', 'assistant', 'tool', 'assistant', 'user', 'assistant'],
    );
  });

  it('runs on the model asked for, else that of the agent, else the default', async () => {
    const preferring = await makeAgent({ modelPreference: 'offline/rehearsal' });
    const lost = await makeAgent({ modelPreference: 'gone/x' });
    const modelOf = async (body: object) => (await chat({ message: 'Hi', ...body })).body;
    assert.equal((await modelOf({ agentId: preferring })).model, 'offline/rehearsal');
    assert.equal((await modelOf({ agentId: preferring, model: 'custom/other' })).model, 'custom/other');
    assert.equal(provider.requests.at(-1)?.model, 'other');
    assert.equal((await modelOf({})).model, 'custom/tiny');
    assert.equal((await modelOf({ agentId: lost })).code, 'conflict');
    const { code, issues } = await modelOf({ model: 'custon/tiny' });
    assert.deepEqual([code, issues[0].path], ['invalid_input', 'model']);
    assert.match(issues[0].message, /such as custom\/tiny/);
  });

  it('is answered by the default agent of the settings, else by an assistant without tools', async () => {
    assert.equal((await chat({ message: 'Hi' })).body.agentId, undefined);
    assert.deepEqual(provider.requests.at(-1)?.tools, []);
    const agentId = await makeAgent();
    await must('update_settings', { defaultAgentId: agentId });
    assert.equal((await chat({ message: 'Hi' })).body.agentId, agentId);
    await must('update_settings', { defaultAgentId: null });
  });

  it('takes agents by name, and none that is paused, deleted or not there', async () => {
    const id = await makeAgent({ name: 'grace' });
    assert.equal((await chat({ message: 'Hi', agentId: 'grace' })).body.agentId, id);
    await must('update_agent', { id, status: 'paused' });
    const paused = await chat({ message: 'Hi', agentId: 'grace' });
    assert.deepEqual([paused.status, /paused/.test(paused.body.error)], [409, true]);
    await must('delete_agent', { id });
    assert.equal((await chat({ message: 'Hi', agentId: id })).status, 409);
    assert.equal((await chat({ message: 'Hi', agentId: 'grace' })).status, 404);
  });

  it('bounds what it gets', async () => {
    for (const message of ['', '   ', 'x'.repeat(100_001), 'nul\0']) {
      assert.equal((await chat({ message })).status, 400);
    }
    assert.equal((await chat({ message: 'Hi', temperature: 1 })).status, 400);
  });

  it('ends after maxSteps turns and says so, with what was done kept', async () => {
    const agentId = await makeAgent({ tools: ['list_skills'], maxSteps: 2 });
    provider.play(() => ({ calls: [{ name: 'list_skills', arguments: {} }] }));
    const { body } = await chat({ message: 'Go on and on', agentId });
    assert.deepEqual([body.stopReason, body.toolCalls.length], ['max_steps', 2]);
    assert.match(body.message.content, /Stopped after 2 turns/);
    assert.equal((await told(body.threadId)).length, 6);
  });

  it('says where the answer was cut for its length', async () => {
    provider.play(() => ({ text: 'So long', finish: 'length' }));
    assert.equal((await chat({ message: 'Hi' })).body.stopReason, 'length');
  });

  it('keeps calls of a model that makes nonsense of them, and the thread can be read', async () => {
    const agentId = await makeAgent({ tools: ['list_skills'] });
    const deep = `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`;
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? {
            calls: [
              { name: 'list_skills', arguments: { 'a\0\ud800': 'b\0', limit: 'x\udfff' } },
              { name: 'list_skills', arguments: deep },
              { name: 'x'.repeat(300), arguments: { a: 1 } },
              { name: 'list_skills', arguments: '[1]' },
              { name: 'list_skills', arguments: '' },
            ],
          }
        : { text: 'Oh.' },
    );
    const { status, body } = await chat({ message: 'Break it', agentId });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(pluck(body.toolCalls, 'ok'), [false, false, false, false, true]);
    const roles = (await told(body.threadId)).map(([role]) => role);
    assert.deepEqual(roles, ['user', 'assistant', ...Array(5).fill('tool'), 'assistant']);
    assert.equal((await chat({ message: 'Again', threadId: body.threadId })).status, 200);
  });

  it('keeps no text that a store cannot keep, and shows the model no more of a result than fits', async () => {
    provider.play(() => ({ text: 'a\0b\ud800 c' }));
    assert.equal((await chat({ message: 'Hi' })).body.message.content, 'ab\ufffd c');
    const { id } = await must('create_document', { title: 'Long', content: 'word '.repeat(20_000) });
    const agentId = await makeAgent({ tools: ['get_document'] });
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user' ? { calls: [{ name: 'get_document', arguments: { id } }] } : { text: 'Long.' },
    );
    await chat({ message: 'Read it', agentId });
    const shown = provider.requests.at(-1)?.messages.at(-1)?.content ?? '';
    assert.ok(shown.length < 17_000 && /cut: \d+ more characters/.test(shown));
  });
});

describe('the thread of a chat', () => {
  it('has one run at a time; a second is refused and names it', async () => {
    const { threadId } = (await chat({ message: 'Hi' })).body;
    provider.play(() => ({ text: 'slowly now', pace: 100 }));
    const answers = await Promise.all([1, 2, 3, 4].map((at) => chat({ message: `Both ${at}`, threadId })));
    const refused = answers.filter(({ status }) => status === 409);
    const [won] = answers.filter(({ status }) => status === 200);
    assert.equal(refused.length, 3);
    for (const { body } of refused) assert.match(body.error, new RegExp(won?.body.runId));
    assert.equal((await told(threadId)).length, 4);
    assert.equal((await chat({ message: 'Now?', threadId })).status, 200);
  });

  it('must be active and the caller’s to write, and does not exist for those it is closed to', async () => {
    const { threadId } = (await chat({ message: 'Hi' })).body;
    const key = await makeKey(server, { scopes: ['write'] });
    assert.equal((await chat({ message: 'Hi', threadId }, { key })).status, 200);
    const own = (await must('list_api_keys', { limit: 1 })).data[0].id;
    const entry = (role: string) => ({ principal: { type: 'api-key', id: own }, role });
    await must('add_thread_access', { id: threadId, entries: [entry('viewer')] });
    const viewer = await chat({ message: 'Hi', threadId }, { key });
    assert.deepEqual([viewer.status, viewer.body.required], [403, { role: 'editor' }]);
    await must('remove_thread_access', { id: threadId, principals: [entry('viewer').principal] });
    await must('update_thread_access', { id: threadId, visibility: 'restricted' });
    const hidden = await chat({ message: 'Hi', threadId }, { key });
    const unknown = await chat({ message: 'Hi', threadId: 'thr_none' }, { key });
    assert.deepEqual([hidden.status, unknown.status], [404, 404]);
    assert.equal(hidden.body.error.replace(threadId, ''), unknown.body.error.replace('thr_none', ''));
    await must('update_thread', { id: threadId, status: 'archived' });
    assert.equal((await chat({ message: 'Hi', threadId })).status, 409);
    assert.equal((await told(threadId)).length, 4);
  });

  it('that is deleted while the agent works ends the run', async () => {
    const { threadId } = (await chat({ message: 'Hi' })).body;
    provider.play(() => ({ text: 'a b c d e f', pace: 50 }));
    const answer = chat({ message: 'Slowly', threadId });
    await until(async () => (await server.store.agentRuns.count({ where: { threadId, status: 'running' } })) === 1);
    await must('delete_thread', { id: threadId });
    assert.equal((await answer).status, 404);
    assert.equal(await server.store.agentRuns.count({ where: { threadId, status: 'failed' } }), 1);
    assert.equal(await server.store.messages.count({ where: { threadId } }), 0);
  });
});

describe('a provider that fails', () => {
  const failures: Record<string, Reply> = {
    'refuses the key': { status: 401, error: 'bad key sk-abc' },
    'does not know the model': { status: 404 },
    'refuses the request': { status: 400, error: 'told sk-abc' },
    'ends the answer without an end': { text: 'half an', cut: 'stream' },
    'breaks the connection in the answer': { text: 'half an answer', cut: 'connection', pace: 20 },
    'asks for a long wait': { status: 429, headers: { 'Retry-After': '600' } },
  };
  for (const [what, reply] of Object.entries(failures)) {
    it(`and ${what} is 503; the message is kept, the run has failed, the thread is free`, async () => {
      provider.play(() => reply);
      const { status, body, headers } = await chat({ message: 'Are you there?' });
      assert.deepEqual([status, body.code, headers.has('retry-after')], [503, 'unavailable', true]);
      assert.ok(!body.error.includes('sk-abc'), body.error);
      const [threadId = '', runId = ''] = body.error.match(/\b(thr|run)_[0-9a-z]{26}\b/g) ?? [];
      assert.deepEqual(await told(threadId), [['user', 'Are you there?']]);
      const run = await runOf(runId);
      assert.deepEqual([run?.status, run?.error?.code], ['failed', 'unavailable']);
      provider.play(() => ({ text: 'Here.' }));
      const again = await chat({ message: 'Are you there?', threadId });
      assert.equal(again.status, 200);
      assert.deepEqual(await told(threadId), [
        ['user', 'Are you there?'],
        ['assistant', 'Here.'],
      ]);
    });
  }

  it('leaves nothing of the prompt or the key in the log, and says what happened', async () => {
    provider.play(() => ({ status: 400, error: 'no' }));
    await chat({ message: 'a secret question' });
    const lines = server.log.filter(({ tool }) => tool === 'send_chat_message').map((line) => JSON.stringify(line));
    assert.match(lines.at(-1) ?? '', /custom\/tiny failed: AI_APICallError: no/);
    assert.ok(!lines.join('').includes('secret question'));
  });

  it('by being busy for a moment is asked again', async () => {
    const before = provider.requests.length;
    provider.play((_, at) =>
      at === before + 1 ? { status: 503, headers: { 'Retry-After': '0' } } : { text: 'Back.' },
    );
    assert.equal((await chat({ message: 'Hi' })).body.message.content, 'Back.');
  });

  it('in the second turn leaves what was done in the thread', async () => {
    const agentId = await makeAgent({ tools: ['create_skill'] });
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { calls: [{ name: 'create_skill', arguments: { name: `made-${messages.length}` } }] }
        : { status: 400 },
    );
    const { body } = await chat({ message: 'Make one', agentId });
    const [threadId = ''] = body.error.match(/\bthr_[0-9a-z]{26}\b/) ?? [];
    assert.deepEqual(
      (await told(threadId)).map(([role]) => role),
      ['user', 'assistant', 'tool'],
    );
  });
});

describe('an Idempotency-Key on a chat', () => {
  it('repeats the answer and not the run', async () => {
    const headers = { 'Idempotency-Key': 'chat-1' };
    const first = await chat({ message: 'Once' }, { headers });
    const asked = provider.requests.length;
    const second = await chat({ message: 'Once' }, { headers });
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers.get('Idempotency-Replayed'), 'true');
    assert.equal(provider.requests.length, asked);
    assert.equal((await chat({ message: 'Other' }, { headers })).status, 409);
  });

  it('is refused while the first call runs, also over MCP, and not kept where the provider failed', async () => {
    provider.play(() => ({ text: 'a b c d', pace: 50 }));
    const meta = { idempotencyKey: 'chat-2' };
    const input = { message: 'Once' };
    const first = callTool(server, server.adminKey, 'send_chat_message', input, meta);
    await until(() => provider.requests.at(-1)?.messages.at(-1)?.content === 'Once');
    const second = await callTool(server, server.adminKey, 'send_chat_message', input, meta);
    assert.ok('error' in second && second.error.code === 'conflict');
    assert.ok('output' in (await first));
    provider.play(() => ({ status: 400 }));
    const headers = { 'Idempotency-Key': 'chat-3' };
    assert.equal((await chat({ message: 'Once' }, { headers })).status, 503);
    provider.play(() => ({ text: 'Now.' }));
    assert.equal((await chat({ message: 'Once' }, { headers })).status, 200);
  });
});

describe('the prompt of a thread', () => {
  it('begins from turn to turn with the same bytes, up to what the last message said', async () => {
    const reply = (count: number) => `Answer ${count}.`;
    provider.play((_, count) => ({ text: reply(count) }));
    let threadId: string | undefined;
    let before = '';
    for (let turn = 1; turn <= 10; turn += 1) {
      const message = `Question ${turn}?`;
      const { body } = await chat({ message, ...(threadId && { threadId }) });
      ({ threadId } = body);
      await must('create_memory', { content: `Question ${turn} was asked.` });
      const { messages } = provider.requests.at(-1)?.body ?? {};
      const sent = JSON.stringify(messages);
      assert.ok(sent.startsWith(before), `turn ${turn}`);
      before = sent.slice(0, sent.lastIndexOf(message) + message.length);
    }
    assert.ok(before.includes('Question 1?') && before.includes('Answer'), before);
  });
});

describe('a client that goes away', () => {
  it('ends its run; what was said so far is kept and the thread is free', async () => {
    const { threadId } = (await chat({ message: 'Hi' })).body;
    provider.play(() => ({ text: 'one two', goesOn: true }));
    const aborted = provider.aborted();
    const body = { message: 'Count', threadId };
    const { events, goAway } = await openEvents(server, '/api/v1/chat', { key: server.adminKey, body });
    let heard = '';
    for await (const { name, data } of events) {
      if (name === 'delta') heard += data.text;
      if (heard === 'one two') break;
    }
    goAway();
    await until(async () => (await server.store.agentRuns.count({ where: { threadId, status: 'running' } })) === 0);
    await until(async () => (await told(threadId)).length === 4);
    const [, last] = (await told(threadId)).at(-1) ?? [];
    assert.equal(last, 'one two');
    assert.equal(await server.store.agentRuns.count({ where: { threadId, status: 'cancelled' } }), 1);
    await until(() => provider.aborted() > aborted);
    provider.play(() => ({ text: 'Hello.' }));
    assert.equal((await chat({ message: 'Back', threadId })).status, 200);
  });

  it('but with an Idempotency-Key finds the answer when it comes back', async () => {
    provider.play(() => ({ text: 'one two three four', pace: 150 }));
    const before = provider.requests.length;
    const headers = { 'Idempotency-Key': 'gone' };
    const controller = new AbortController();
    const gone = fetch(`${server.baseUrl}/api/v1/chat`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${server.adminKey}`, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ message: 'Keep on' }),
      signal: controller.signal,
    });
    void until(async () => provider.requests.length > before).then(() => controller.abort());
    await assert.rejects(gone);
    const asked = provider.requests.length;
    await until(async () => (await chat({ message: 'Keep on' }, { headers })).status === 200);
    const { body } = await chat({ message: 'Keep on' }, { headers });
    assert.equal(body.message.content, 'one two three four');
    assert.equal(provider.requests.length, asked);
  });
});

function registryWhoseRunsTake(runMs: number) {
  const providers = [{ kind: 'custom' as const, baseUrl: provider.baseUrl }];
  return openTestRegistry(undefined, undefined, createModels({ providers, runMs }));
}

describe('a run that takes too long', () => {
  it('is ended, with what was said so far kept', async () => {
    const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
    const call = { message: 'Count', model: 'custom/tiny' };
    provider.play(() => ({ text: 'one two', goesOn: true }));
    let said: string | undefined;
    let registry = await registryWhoseRunsTake(300);
    // On a busy machine the time may be over before anything was said: then it gets more of it.
    for (let runMs = 600; said === undefined; runMs *= 2) {
      const slow = await registry.refused(admin, 'send_chat_message', call);
      assert.match(slow.error, /longer than \d+ seconds/);
      const [run] = (await registry.store.agentRuns.find({ limit: 1 })).records;
      assert.equal(run?.status, 'failed');
      const { records } = await registry.store.messages.find({ where: { threadId: run?.threadId }, limit: 1 });
      if (records[0]?.role === 'assistant') said = records[0].content;
      else {
        await registry.close();
        registry = await registryWhoseRunsTake(runMs);
      }
    }
    assert.match(said, /^one/);
    provider.play(() => 'hang');
    assert.equal(
      await registry.codeOf(admin, 'send_chat_message', { message: 'Count', model: 'custom/tiny' }),
      'unavailable',
    );
    await registry.close();
  });

  it('and was lost holds no thread for ever', async () => {
    let now = new Date();
    const registry = await openTestRegistry(() => now);
    const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
    const first = await registry.must(admin, 'send_chat_message', { message: 'Hi' });
    const { threadId, runId } = first as { threadId: string; runId: string };
    await writing(registry.store).agentRuns.update(runId, { status: 'running', finishedAt: null });
    const busy = await registry.call(admin, 'send_chat_message', { message: 'Hi', threadId });
    assert.ok('error' in busy && busy.error.error.includes(runId));
    now = new Date(now.getTime() + 10 * 60_000);
    assert.ok('output' in (await registry.call(admin, 'send_chat_message', { message: 'Hi', threadId })));
    assert.equal((await registry.store.agentRuns.get(runId))?.status, 'failed');
  });
});
