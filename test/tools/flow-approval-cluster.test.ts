import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { personIn } from '../support/deciders.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { countingTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';

const { tool: counts, counted } = countingTool();

let worlds: FlowWorld[] = [];
afterEach(async () => {
  for (const world of worlds) await world.close();
});

/** Two servers on one database, each with a connection, a cache and an engine of its own, as in a process of its own. */
async function two(): Promise<[FlowWorld, FlowWorld]> {
  counted.calls = 0;
  const { url } = await testDatabase();
  worlds = [];
  for (let n = 0; n < 2; n += 1) worlds.push(await FlowWorld.open({ url, tools: [counts] }));
  return worlds as [FlowWorld, FlowWorld]; // two were opened
}

const steps = [{ id: 'asks', tool: 'counts', arguments: {}, approval: true }];
const OPEN = ['queued', 'running', 'waiting'];

describe('runs that wait for a person, of two processes', { skip: withoutPostgres }, () => {
  it('go on once, whichever process began them, decides and runs them', async () => {
    const [one, other] = await two();
    const [anna, bert, carl] = [await personIn(one, 'anna'), await personIn(one, 'bert'), await personIn(one, 'carl')];
    const { id } = await one.flow({ steps, overlap: 'allow' }, anna);
    const runs = await Promise.all(Array.from({ length: 12 }, (_, at) => (at % 2 ? one : other).run(id)));
    assert.ok(runs.every(({ status }) => status === 'waiting'));
    const ids = runs.map((run) => run.steps[0]?.approvalId ?? '');
    assert.equal(new Set(ids).size, runs.length);
    const codes = await Promise.all(
      ids.flatMap((approval) => [
        one.codeOf('decide_approval', { id: approval, decision: 'approve' }, bert),
        other.codeOf('decide_approval', { id: approval, decision: 'approve' }, carl),
      ]),
    );
    assert.deepEqual([codes.filter((code) => code === 'ok').length, codes.length], [runs.length, 2 * runs.length]);
    await until(async () => (await other.store.flowRuns.count({ where: { status: OPEN } })) === 0);
    const { records } = await one.store.flowRuns.find({ limit: 100 });
    assert.deepEqual([...new Set(records.map(({ status }) => status))], ['succeeded']);
    assert.equal(counted.calls, runs.length);
  });

  it('go on in the other process where theirs has ended, and are cancelled from it', async () => {
    const [one, other] = await two();
    const [anna, bert] = [await personIn(one, 'anna'), await personIn(one, 'bert')];
    const { id } = await one.flow({ steps, overlap: 'allow' }, anna);
    const [first, second] = [await one.run(id), await one.run(id)];
    await one.stop();
    worlds = [other];
    assert.equal((await other.must('cancel_flow_run', { id: second.id })).status, 'cancelled');
    await other.must('decide_approval', { id: first.steps[0]?.approvalId, decision: 'approve' }, bert);
    await until(async () => (await other.store.flowRuns.read(first.id)).status === 'succeeded');
    assert.equal(counted.calls, 1);
  });
});
