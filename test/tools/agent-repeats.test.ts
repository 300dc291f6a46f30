import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { callTool, rest } from '../support/calls.ts';
import { loseAnswer, loseTransaction } from '../support/lost-answer.ts';
import { startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
await callTool(server, server.adminKey, 'create_agent', { name: 'ada', displayName: 'Ada', tools: ['list_skills'] });
let asked = 0;
beforeEach(() => {
  asked = provider.requests.length;
});
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const post = (path: string, key: string, body: object) =>
  rest(server, 'POST', path, { key: server.adminKey, body, ...(key && { headers: { 'Idempotency-Key': key } }) });
const chat = (key: string, message = 'Say hello') => post('/api/v1/chat', key, { message, agentId: 'ada' });
/** The same over MCP, as it has no path of its own. */
async function invoke(idempotencyKey: string, input = 'Say hello', more: object = {}) {
  const params = { name: 'invoke_agent', arguments: { agent: 'ada', input, ...more }, _meta: { idempotencyKey } };
  const { result } = (await post('/api/v1/mcp', '', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })).body;
  return { body: JSON.parse(result.content[0].text) };
}
/** How often the model was asked in this test. */
const turns = () => provider.requests.length - asked;

/** Loses the answer to the storing of what calls answered, of the beginning or of the end of a run. */
const loseKept = () => loseTransaction(server.store, ({ collection }) => collection === 'idempotency');
const loseBeginning = () =>
  loseAnswer(server.store, ({ collection, record }) => collection === 'agentRuns' && record.revision === 1);

describe('a call that an agent makes', () => {
  it('is made again by itself where the store certainly did not take it, and the model is told nothing of that', async () => {
    const tools = ['create_skill'];
    await callTool(server, server.adminKey, 'create_agent', { name: 'bob', displayName: 'Bob', tools });
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { calls: [{ name: 'create_skill', arguments: { name: 'once' } }] }
        : { text: `${messages.at(-1)?.content}` },
    );
    loseTransaction(server.store, ({ collection }) => collection === 'skills');
    const { body } = await post('/api/v1/chat', '', { message: 'Make it', agentId: 'bob' });
    assert.equal(body.toolCalls?.[0].ok, true);
    assert.match(body.message.content, /"name":"once"/);
    assert.equal(await server.store.skills.count({}), 1);
  });
});

describe('a call that runs an agent, made again under its key when its answer was lost', () => {
  it('gives the answer in the thread, and the agent runs once', async () => {
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { calls: [{ name: 'list_skills', arguments: { limit: 1 } }] }
        : { text: 'There are none.' },
    );
    loseKept();
    assert.equal((await chat('c1')).status, 503);
    const { status, body } = await chat('c1');
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.message.content, body.stopReason, turns()], ['There are none.', 'end', 2]);
    assert.deepEqual(pluck(body.toolCalls, 'tool', 'ok'), [['list_skills', true]]);
    assert.equal(await server.store.messages.count({ where: { threadId: body.threadId } }), 4);
    const replayed = await chat('c1');
    assert.equal(replayed.headers.get('Idempotency-Replayed'), 'true');
    assert.deepEqual(replayed.body, body);
  });

  it('says what became of an answer that is nowhere', async () => {
    loseKept();
    assert.equal((await invoke('i1')).body.code, 'unavailable');
    const { body } = await invoke('i1');
    assert.deepEqual([body.code, turns()], ['interrupted', 1]);
    assert.match(body.error, /run_\w+.*succeeded.*get_agent_run.*new key/);
    assert.equal(body.error.includes(body.runId), true);
  });

  it('says that the run was cut off, where its end is not known, and ends it', async () => {
    for (const call of [chat, invoke]) {
      loseBeginning();
      assert.equal((await call('b1')).body.code, 'unavailable');
      const { body } = await call('b1');
      assert.deepEqual([body.code, turns()], ['interrupted', 0]);
      assert.match(body.error, /was cut off.*get_agent_run.*new key/);
      const run = await server.store.agentRuns.get(body.runId);
      assert.deepEqual([run?.cutOff, run?.threadId], [true, body.threadId]);
      const { requestId, ...again } = (await call('b1')).body;
      assert.deepEqual({ ...again, requestId: body.requestId }, body);
      assert.notEqual(requestId, body.requestId);
    }
    assert.equal(await server.store.agentRuns.count({ where: { status: 'running' } }), 0);
  });

  it('gives the answer whose storing ended well while that was not told', async () => {
    loseAnswer(server.store, ({ collection, record }) => collection === 'agentRuns' && record.status === 'succeeded');
    assert.equal((await chat('e1')).status, 503);
    const { status, body } = await chat('e1');
    assert.deepEqual([status, body.message?.content, turns()], [200, 'Hello.', 1]);
  });

  it('does not run the agent again where a step of it could not be stored', async () => {
    provider.play(() => ({ calls: [{ name: 'list_skills', arguments: {} }] }));
    loseTransaction(server.store, ({ collection, record }) => collection === 'messages' && record.role === 'tool');
    assert.equal((await chat('s1')).status, 503);
    const { status, body } = await chat('s1');
    assert.deepEqual([status, body.code, turns()], [410, 'interrupted', 1]);
    assert.match(body.error, /was cut off.*list_messages/);
  });

  it('finishes a turn in a thread that was cut off, with what was said kept once', async () => {
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { calls: [{ name: 'list_skills', arguments: {} }] }
        : { calls: [{ name: 'list_skills', arguments: { limit: 2 } }] },
    );
    let stored = 0;
    loseTransaction(server.store, ({ collection, record }) => {
      stored += collection === 'messages' && 'role' in record && record.role === 'tool' ? 1 : 0;
      return stored === 2;
    });
    const cut = await chat('g1', 'Count them');
    assert.equal(cut.status, 503);
    const { body: error } = await chat('g1', 'Count them');
    const { runId, threadId } = error;
    assert.deepEqual([error.code, cut.body.runId, cut.body.threadId], ['interrupted', runId, threadId]);

    provider.play(({ messages }) => ({ text: `Told ${messages.length}: ${messages.at(-1)?.content}` }));
    const go = (key: string, more: object = {}) => post('/api/v1/chat', key, { threadId, continue: runId, ...more });
    const wrong = [
      await go('', { message: 'and' }),
      await go('', { threadId: undefined }),
      await post('/api/v1/chat', '', {}),
    ];
    assert.deepEqual(
      wrong.map(({ status, body }) => [status, body.issues?.[0].path]),
      [
        [400, 'message'],
        [400, 'threadId'],
        [400, 'message'],
      ],
    );
    const { status, body } = await go('g2');
    assert.equal(status, 200, JSON.stringify(body));
    assert.match(body.message.content, /^Told 5: Your turn was cut off/); // the prompt, the message, the call, its result, and this
    assert.deepEqual((await go('g2')).body, body);
    const { records } = await server.store.messages.find({ where: { threadId }, order: 'oldest', limit: 10 });
    assert.deepEqual(pluck(records, 'role'), ['user', 'assistant', 'tool', 'assistant']);
    assert.equal((await server.store.agentRuns.get(body.runId))?.continues, runId);
    const late = await go('');
    assert.deepEqual([late.status, late.body.runId], [409, body.runId], 'the thread went on');
    const other = await post('/api/v1/chat', '', { threadId, continue: 'run_01k0aaaaaaaaaaaaaaaaaaaaaa' });
    assert.equal(other.status, 404);
  });

  it('finishes work without a thread that was cut off, and tells the agent which calls it made', async () => {
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { calls: [{ name: 'list_skills', arguments: {} }] }
        : { text: 'There are none.' },
    );
    loseTransaction(
      server.store,
      ({ collection, record }) => collection === 'agentRuns' && record.status === 'succeeded',
    );
    assert.equal((await invoke('h1', 'Count them')).body.code, 'unavailable');
    const { body: error } = await invoke('h1', 'Count them');
    assert.equal(error.code, 'interrupted');
    provider.play(({ messages }) => ({ text: `${messages.at(-1)?.content}` }));
    const { body } = await invoke('h2', 'Count them', { continue: error.runId });
    assert.match(body.text, /^Count them\n\nYou worked on this before.*\n- list_skills: ok/);
    assert.match((await invoke('h3', 'Count them', { continue: body.runId })).body.error, /was finished/);
  });

  it('runs the agent again where the run failed for a reason that may pass', async () => {
    provider.play(() => ({ status: 400, error: 'broken' }));
    assert.equal((await invoke('f1')).body.code, 'unavailable');
    provider.play(() => ({ text: 'Better.' }));
    assert.equal((await invoke('f1')).body.text, 'Better.');
  });

  it('refuses another input, and gives others nothing', async () => {
    loseKept();
    assert.equal((await chat('o1')).status, 503);
    const { status, body } = await chat('o1', 'Say something else');
    assert.deepEqual([status, body.code, turns()], [409, 'conflict', 1]);
    assert.match(body.error, /another input/);
  });
});
