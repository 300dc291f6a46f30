import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { FlowRun } from '../../resources/flow-run.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { MOST_AT_ONCE } from '../../tools/flows/run/run-slots.ts';
import { personIn, standingOf } from '../support/deciders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { countingTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';

const { tool: counts, counted } = countingTool();

const clock = new FakeClock('2026-03-02T09:00:00Z');
const world = await FlowWorld.open({ clock, tools: [counts] });
after(() => world.close());
const anna = await personIn(world, 'anna');
const bert = await personIn(world, 'bert');
const carl = await personIn(world, 'carl');

const skill = (id: string) => ({
  id,
  tool: 'create_skill',
  arguments: { name: `{{ input.name }}-${id}`, instructions: 'x' },
});
const asks = { id: 'asks', tool: 'counts', arguments: {}, approval: true };
let serial = 0;
const named = () => {
  serial += 1;
  return { name: `run${serial}` };
};

const read = (id: string): Promise<FlowRun> => world.must('get_flow_run', { id });
const ended = async (id: string): Promise<FlowRun> => {
  await until(async () => !['queued', 'running', 'waiting'].includes((await read(id)).status));
  return read(id);
};
const statuses = ({ steps }: FlowRun) => steps.map(({ status }) => status);
const approvalOf = ({ steps }: FlowRun) => steps.find(({ status }) => status === 'waiting')?.approvalId ?? '';
const decide = (id: string, decision = 'approve', by: Principal = bert, note?: string) =>
  world.call('decide_approval', { id, decision, ...(note && { note }) }, by);
const codeOf = async (decided: ReturnType<typeof decide>) => {
  const answer = await decided;
  return 'error' in answer ? answer.error.code : 'ok';
};

describe('a step that waits for a person', () => {
  it('pauses the run, whoever runs it, and goes on with what was there once somebody said yes', async () => {
    counted.calls = 0;
    const { id } = await world.flow({ name: 'pauses', steps: [skill('first'), asks, skill('last')] }, anna);
    const run = await world.run(id, named());
    assert.deepEqual([run.status, statuses(run), counted.calls], ['waiting', ['succeeded', 'waiting', 'pending'], 0]);
    assert.equal((await world.must('get_approval', { id: approvalOf(run) }, bert)).by.name, 'pauses');
    assert.equal(await codeOf(decide(approvalOf(run))), 'ok');
    const over = await ended(run.id);
    assert.deepEqual(
      [over.status, statuses(over), counted.calls],
      ['succeeded', ['succeeded', 'succeeded', 'succeeded'], 1],
    );
    assert.deepEqual(over.steps[0], run.steps[0]);
    assert.equal((await world.must('get_approval', { id: approvalOf(run) }, bert)).status, 'done');
  });

  it('is asked for in each run, and one yes counts for one of two that are the same', async () => {
    counted.calls = 0;
    const { id } = await world.flow({ steps: [asks], overlap: 'allow' }, anna);
    const [one, two] = [await world.run(id), await world.run(id)];
    assert.notEqual(approvalOf(one), approvalOf(two));
    await decide(approvalOf(one));
    assert.equal((await ended(one.id)).status, 'succeeded');
    assert.deepEqual([(await read(two.id)).status, counted.calls], ['waiting', 1]);
    await world.must('cancel_flow_run', { id: two.id });
  });

  it('is decided once by two who decide at once, and runs once', async () => {
    counted.calls = 0;
    const { id } = await world.flow({ steps: [asks] }, anna);
    const run = await world.run(id);
    const codes = await Promise.all([bert, carl].map((by) => codeOf(decide(approvalOf(run), 'approve', by))));
    assert.deepEqual(codes.sort(), ['conflict', 'ok']);
    assert.deepEqual([(await ended(run.id)).status, counted.calls], ['succeeded', 1]);
  });

  it('fails with who said no and why, for who builds the flow, and the rest does not run', async () => {
    counted.calls = 0;
    const { id } = await world.flow({ steps: [asks, skill('last')] }, anna);
    const run = await world.run(id, named());
    await decide(approvalOf(run), 'reject', bert, 'Not on a Friday.');
    const over = await ended(run.id);
    assert.deepEqual([over.status, statuses(over), counted.calls], ['failed', ['failed', 'pending'], 0]);
    assert.match(over.error?.message ?? '', /^Step asks: bert.* rejected this call .*Not on a Friday\.$/);
    const goesOn = await world.flow({ steps: [{ ...asks, onError: 'continue' }, skill('last')] }, anna);
    const other = await world.run(goesOn.id, named());
    await decide(approvalOf(other), 'reject');
    assert.deepEqual(statuses(await ended(other.id)), ['failed', 'succeeded']);
  });

  it('is cancelled with the run, and then decided by nobody', async () => {
    const { id } = await world.flow({ steps: [asks] }, anna);
    const run = await world.run(id);
    const cancelled = await world.must('cancel_flow_run', { id: run.id });
    assert.deepEqual([cancelled.status, statuses(cancelled)], ['cancelled', ['failed']]);
    assert.equal(await codeOf(decide(approvalOf(run))), 'conflict');
    assert.match((await world.must('get_approval', { id: approvalOf(run) }, bert)).problem, /cancelled/);
  });

  it('holds no slot, so that others run, and no other run of its flow goes before it ends', async () => {
    const { id } = await world.flow({ steps: [asks], overlap: 'allow' }, anna);
    const waiting = await Promise.all(Array.from({ length: MOST_AT_ONCE + 4 }, () => world.run(id)));
    assert.ok(waiting.every(({ status }) => status === 'waiting'));
    const free = await world.flow({ steps: [{ id: 'a', tool: 'counts', arguments: {} }] }, anna);
    assert.equal((await world.run(free.id)).status, 'succeeded');
    const queue = await world.flow({ steps: [asks] }, anna);
    const first = await world.run(queue.id);
    const second = await world.must('trigger_flow', { id: queue.id });
    await decide(approvalOf(first));
    await ended(first.id);
    await until(async () => (await read(second.id)).status === 'waiting');
    for (const each of [...waiting, second]) await world.must('cancel_flow_run', { id: each.id });
  });

  it('goes on after a restart, also where it was deleted as a flow, and not twice', async () => {
    counted.calls = 0;
    const { id } = await world.flow({ steps: [skill('first'), asks] }, anna);
    const run = await world.run(id, named());
    await world.must('delete_flow', { id });
    await world.restart();
    assert.equal((await read(run.id)).status, 'waiting');
    await decide(approvalOf(run));
    assert.deepEqual([(await ended(run.id)).status, counted.calls], ['succeeded', 1]);
    await world.restart();
    assert.deepEqual([(await read(run.id)).status, counted.calls], ['succeeded', 1]);
  });

  it('waits in each flow that waits for the run', async () => {
    counted.calls = 0;
    const inner = await world.flow({ steps: [asks] }, anna);
    const step = { id: 'inner', tool: 'trigger_flow', arguments: { id: inner.id, wait: true } };
    const outer = await world.flow({ steps: [step, skill('last')] }, anna);
    // Either of the two may go on first.
    const times = 20;
    for (let time = 1; time <= times; time += 1) {
      const run = await world.run(outer.id, named());
      assert.deepEqual([run.status, statuses(run)], ['waiting', ['waiting', 'pending']]);
      await decide(approvalOf(run));
      const { status, error } = await ended(run.id);
      assert.deepEqual([status, error, counted.calls], ['succeeded', undefined, time]);
    }
    const runs = await world.runs(inner.id);
    assert.deepEqual(
      runs.map(({ status }) => status),
      new Array(times).fill('succeeded'),
    );
    const seen = await world.engine.ended({ id: runs[0]?.id ?? '', by: undefined }, undefined);
    assert.deepEqual(seen, await world.store.flowRuns.get(runs[0]?.id ?? ''));
  });

  it('also waits where what the flow runs as asks first, or an agent would', async () => {
    const made = { name: 'asks', scopes: ['write'], askFirst: ['create_skill'] };
    const { id: keyId } = await world.must('create_api_key', made, anna);
    const key = await standingOf(world, 'api-key', keyId);
    const { id } = await world.flow({ steps: [skill('only')] }, key);
    const run = await world.run(id, named());
    assert.equal(run.status, 'waiting');
    await decide(approvalOf(run));
    assert.equal((await ended(run.id)).status, 'succeeded');
  });

  it('fails where nobody decided in time, and is tried under no other approval', async () => {
    counted.calls = 0;
    const { id } = await world.flow({ steps: [{ ...asks, retry: { attempts: 3, delayMs: 0 } }] }, anna);
    const run = await world.run(id);
    await clock.pass(25 * 3_600_000);
    const over = await ended(run.id);
    assert.deepEqual([over.status, counted.calls], ['failed', 0]);
    assert.match(over.error?.message ?? '', /^Step asks: Nobody said yes in time/);
  });
});

describe('nobody decides what they themselves have asked', () => {
  it('by a flow that they wrote, began, had begun by another one or began again', async () => {
    const { id } = await world.flow({ steps: [asks], overlap: 'allow' }, anna);
    const step = { id: 'inner', tool: 'trigger_flow', arguments: { id } };
    const outer = await world.flow({ steps: [step] }, carl);
    const { id: agentKey } = await world.must('create_api_key', { name: 'k', scopes: ['admin'] }, carl);
    const key = await standingOf(world, 'api-key', agentKey);
    const began = [
      () => world.run(id, {}, carl),
      () => world.run(id, {}, key),
      async () => {
        await world.run(outer.id, {}, bert);
        return (await world.runs(id)).at(-1);
      },
      async () => {
        const first = await world.run(id, {}, carl);
        await world.must('cancel_flow_run', { id: first.id });
        return world.must('retry_flow_run', { id: first.id }, bert);
      },
    ];
    for (const [at, begin] of began.entries()) {
      const { id: runId = '' } = (await begin()) ?? {};
      await until(async () => (await read(runId)).status === 'waiting');
      const approval = approvalOf(await read(runId));
      assert.equal(await codeOf(decide(approval, 'approve', anna)), 'forbidden', `${at} anna`);
      assert.equal(await codeOf(decide(approval, 'approve', carl)), 'forbidden', `${at} carl`);
      assert.equal(await codeOf(decide(approval, 'approve', bert)), at < 2 ? 'ok' : 'forbidden', `${at} bert`);
      const dora = await personIn(world, 'dora');
      if (at >= 2) assert.equal(await codeOf(decide(approval, 'approve', dora)), 'ok');
      assert.equal((await ended(runId)).status, 'succeeded');
    }
  });
});
