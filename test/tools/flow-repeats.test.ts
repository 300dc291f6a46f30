import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, rest } from '../support/calls.ts';
import { loseAnswer, loseTransaction } from '../support/lost-answer.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const server = await startTestServer();
const { must } = callsOf(server);
const steps = [{ id: 'look', tool: 'list_skills', arguments: {} }];
const flowId = (await must('create_flow', { name: 'Looks', steps })).id;

const post = (path: string, key: string, body: object) =>
  rest(server, 'POST', path, { key: server.adminKey, body, headers: { 'Idempotency-Key': key } });
const trigger = (key: string, input: object) => post(`/api/v1/agents/flows/${flowId}/trigger`, key, { input });
/** The same over MCP, as it has no path of its own. */
async function retry(idempotencyKey: string, input: object) {
  const params = { name: 'retry_flow_run', arguments: input, _meta: { idempotencyKey } };
  const answer = await post('/api/v1/mcp', idempotencyKey, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return { body: JSON.parse(answer.body.result.content[0].text) };
}
const loseKept = () => loseTransaction(server.store, ({ collection }) => collection === 'idempotency');
const runs = () => server.store.flowRuns.count({ where: { flowId } });

describe('a call that begins a run, made again under its key when its answer was lost', () => {
  it('answers with the run that it began, and refuses another input', async () => {
    loseKept();
    assert.equal((await trigger('t1', { a: 1 })).body.code, 'unavailable');
    const other = await trigger('t1', { a: 2 });
    assert.deepEqual([other.status, other.body.code], [409, 'conflict']);
    assert.match(other.body.error, /another input/);
    const { body: run } = await trigger('t1', { a: 1 });
    assert.deepEqual(run.input, { a: 1 });
    assert.equal(await runs(), 1);

    await until(async () => (await server.store.flowRuns.get(run.id))?.status === 'succeeded');
    loseKept();
    assert.equal((await retry('r1', { id: run.id })).body.code, 'unavailable');
    const differing = await retry('r1', { id: run.id, fromStep: 'look' });
    assert.deepEqual([differing.body.code, await runs()], ['conflict', 2]);
    assert.match(differing.body.error, /another input/);
    assert.equal((await retry('r1', { id: run.id })).body.retryOf, run.id);
    assert.equal(await runs(), 2);
  });
});

it('a step whose answer was lost is made again under its key, and takes effect once', async () => {
  const once = { title: 'made once', content: 'x' };
  const make = [{ id: 'make', tool: 'create_document', arguments: once, retry: { attempts: 3, delayMs: 100 } }];
  const { id } = await must('create_flow', { name: 'Makes', steps: make });
  loseAnswer(server.store, ({ collection }) => collection === 'documents');
  const { id: runId } = await must('trigger_flow', { id });
  await until(async () => (await server.store.flowRuns.get(runId))?.status === 'succeeded');
  assert.equal(await server.store.documents.count({ where: { title: 'made once' } }), 1);
});
