import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { callTool, rest } from '../support/calls.ts';
import { loseAnswer, loseTransaction } from '../support/lost-answer.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let provider: ModelServer;
let server: TestServer;
before(async () => {
  provider = await startModelServer();
  server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
  await callTool(server, server.adminKey, 'create_agent', { name: 'ada', displayName: 'Ada', tools: ['list_skills'] });
});
after(async () => {
  await server.close();
  await provider.close();
});
let asked = 0;
beforeEach(() => {
  asked = provider.requests.length;
});
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const post = (path: string, key: string, body: object) =>
  rest(server, 'POST', path, { key: server.adminKey, body, ...(key && { headers: { 'Idempotency-Key': key } }) });
const chat = (key: string, message = 'Say hello') => post('/api/v1/chat', key, { message, agentId: 'ada' });
/** The same over MCP, as it has no path of its own. */
async function invoke(idempotencyKey: string, input = 'Say hello') {
  const params = { name: 'invoke_agent', arguments: { agent: 'ada', input }, _meta: { idempotencyKey } };
  const { result } = (await post('/api/v1/mcp', '', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })).body;
  return { body: JSON.parse(result.content[0].text) };
}
/** How often the model was asked in this test. */
const turns = () => provider.requests.length - asked;

/** Loses the answer to the storing of what calls answered, of the beginning or of the end of a run. */
const loseKept = () => loseTransaction(server.store, ({ collection }) => collection === 'idempotency');
const loseBeginning = () =>
  loseAnswer(server.store, ({ collection, record }) => collection === 'agentRuns' && record.revision === 1);

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
    assert.deepEqual(
      body.toolCalls.map(({ tool, ok }: { tool: string; ok: boolean }) => [tool, ok]),
      [['list_skills', true]],
    );
    assert.equal(await server.store.messages.count({ where: { threadId: body.threadId } }), 4);
    const replayed = await chat('c1');
    assert.equal(replayed.headers.get('Idempotency-Replayed'), 'true');
    assert.deepEqual(replayed.body, body);
  });

  it('says what became of an answer that is nowhere', async () => {
    loseKept();
    assert.equal((await invoke('i1')).body.code, 'unavailable');
    const { body } = await invoke('i1');
    assert.deepEqual([body.code, turns()], ['conflict', 1]);
    assert.match(body.error, /run_\w+.*succeeded.*get_agent_run.*new key/);
  });

  it('says that the run was cut off, where its end is not known, and ends it', async () => {
    for (const call of [chat, invoke]) {
      loseBeginning();
      assert.equal((await call('b1')).body.code, 'unavailable');
      const { body } = await call('b1');
      assert.deepEqual([body.code, turns()], ['conflict', 0]);
      assert.match(body.error, /was cut off.*get_agent_run.*new key/);
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
    assert.deepEqual([status, turns()], [409, 1]);
    assert.match(body.error, /was cut off.*list_messages/);
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
