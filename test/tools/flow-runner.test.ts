import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Flow } from '../../resources/flow.ts';
import { StoreUnavailable } from '../../store/errors.ts';
import { defineTool } from '../../tools/core/registry/define-tool.ts';
import { systemClock } from '../../tools/flows/run/clock.ts';
import { FlowRunner } from '../../tools/flows/run/runner.ts';
import { deferred } from '../support/deferred.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { loseAnswer } from '../support/lost-answer.ts';
import { pluck } from '../support/pluck.ts';
import { testTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

let calls = 0;
let passed = Promise.resolve();
const counts = defineTool({
  ...testTool,
  name: 'counts',

  async handler() {
    calls += 1;
    await passed;
    return { ok: true };
  },
});

let world: FlowWorld;
afterEach(() => world.close());

async function open(clock?: FakeClock) {
  calls = 0;
  passed = Promise.resolve();
  world = await FlowWorld.open({ tools: [counts], ...(clock && { clock }) });
  return world.flow({ steps: [{ id: 'a', tool: 'counts', arguments: {} }] });
}

/** Keeps calls of the tool until it is called. */
function hold(): () => void {
  const { promise, resolve } = deferred();
  passed = promise;
  return resolve;
}

/** Keeps the answer of the store to the transaction that begins a run; the function returned gives it. */
function keepAnswer(): () => void {
  const { store } = world;
  const { promise: kept, resolve: answer } = deferred();
  const transaction = store.transaction.bind(store);
  store.transaction = async (work, origin) => {
    const result = await transaction(work, origin);
    if (typeof result === 'object' && result && 'begun' in result) await kept;
    return result;
  };
  return answer;
}

/** A run as an earlier process left it; this one knows nothing of it. */
function left({ id: flowId, runAs }: Flow, more: object = {}) {
  const run = { flowId, runAs, trigger: { kind: 'manual', by: runAs }, status: 'queued', steps: [], plan: [] } as const;
  return writing(world.store).flowRuns.insert({ ...run, steps: [], plan: [], causes: [], ...more });
}

/**
 * Waits until all that was woken has looked at its queue and stored what it began: jobs are counted, and changes are stored in their order.
 * Two calls, as the first may begin before the look has asked for its change.
 */
async function settled(): Promise<void> {
  await until(async () => (await world.store.jobs.open()) === 0);
  for (let n = 0; n < 2; n += 1) await world.must('create_skill', { name: `later ${Math.random()}` });
}

const statusOf = async (id: string) => (await world.store.flowRuns.get(id))?.status;

/** Lets the store take no change from now on; the function returned lets it. Who changes nothing does not notice. */
function fullDisk(): () => void {
  return world.store.beforeCommit(async () => {
    throw new StoreUnavailable('the disk is full');
  });
}

/** Whether the next try of the run's step is still to come. */
async function isWaiting(id: string, clock: FakeClock): Promise<boolean> {
  const step = (await world.store.flowRuns.get(id))?.steps[0];
  return step?.retryAt !== undefined && Date.parse(step.retryAt) > clock.now().getTime();
}

describe('the runner', () => {
  it('begins nothing twice that is asked for while it starts', async () => {
    const flow = await open();
    const run = await left(flow);
    const release = hold();
    const runner = new FlowRunner({ ...world, clock: systemClock, onFailure: (cause) => world.failures.push(cause) });
    const answer = keepAnswer();
    runner.wake(flow.id);
    await settled(); // if it began the run, that is stored, and it does not know yet
    await runner.start();
    answer();
    await until(async () => calls > 0);
    await settled();
    const whileHeld = await statusOf(run.id);
    release();
    await until(async () => (await statusOf(run.id)) !== 'running');
    await runner.close();
    assert.deepEqual([whileHeld, await statusOf(run.id), calls], ['running', 'succeeded', 1]);
  });

  it('goes on with the queue by itself after the store took nothing', async () => {
    const clock = new FakeClock('2026-06-01T00:00:00Z');
    const flow = await open(clock);
    const run = await left(flow);
    const recover = fullDisk();
    world.engine.wake(flow.id);
    await until(async () => world.failures.length > 0);
    recover();
    await clock.pass(31_000);
    await until(async () => (await statusOf(run.id)) === 'succeeded');
    assert.equal(calls, 1);
  });

  it('keeps what came of a call that the store did not take, and makes it once', async () => {
    const clock = new FakeClock('2026-06-01T00:00:00Z');
    const flow = await open(clock);
    const release = hold();
    const { id } = await world.must('trigger_flow', { id: flow.id });
    const waiting = await world.must('trigger_flow', { id: flow.id });
    await until(async () => calls === 1);
    const recover = fullDisk();
    release();
    await until(async () => world.failures.length > 1); // the call's own, and that of what came of it
    recover();
    world.engine.wake(flow.id);
    await settled();
    assert.equal(await statusOf(waiting.id), 'queued', 'the one before it has not ended');
    await clock.pass(1000);
    await until(async () => (await statusOf(waiting.id)) === 'succeeded');
    const { status, steps } = await world.must('get_flow_run', { id });
    assert.deepEqual([status, steps[0].status, steps[0].attempts], ['failed', 'failed', 1]);
    assert.match(steps[0].error.message, /disk|store|later|unavailable/i);
    assert.equal(calls, 2);
  });

  it('makes a call once whose answer got lost after the store took it', async () => {
    const clock = new FakeClock('2026-06-01T00:00:00Z');
    await open(clock);
    const retry = { attempts: 3, delayMs: 1000 };
    const steps = [
      { id: 'a', tool: 'create_skill', arguments: { name: 'once', instructions: '{{ input.x }}' }, retry },
    ];
    const flow = await world.flow({ steps });
    loseAnswer(world.store, ({ collection }) => collection === 'skills');
    const { id } = await world.must('trigger_flow', { id: flow.id, input: { x: 'y' } });
    await until(async () => (await world.store.flowRuns.get(id))?.steps[0]?.retryAt !== undefined);
    await clock.pass(1000);
    await until(async () => (await statusOf(id)) === 'succeeded');
    const { steps: ran } = await world.must('get_flow_run', { id });
    assert.deepEqual([ran[0].attempts, ran[0].output.name], [1, 'once']);
    assert.equal(await world.store.skills.count({}), 1);
    assert.equal((await world.store.flowRuns.get(id))?.underWay, undefined);
  });

  it('makes a call again by itself that was certainly not made, until its time is over', async () => {
    const clock = new FakeClock('2026-06-01T00:00:00Z');
    await open(clock);
    const step = { id: 'a', tool: 'create_skill', arguments: { name: '{{ input.x }}' } };
    const flow = await world.flow({ steps: [step] });
    const refuse = () =>
      world.store.beforeCommit(async (_, changes) => {
        if (changes.some(({ collection }) => collection === 'skills')) throw new StoreUnavailable('the disk is full');
      });
    const waits = (id: string) => until(() => isWaiting(id, clock));
    let recover = refuse();
    const { id } = await world.must('trigger_flow', { id: flow.id, input: { x: 'once' } });
    await waits(id);
    await world.restart(); // what was said of the waiting call is stored
    recover = refuse();
    await clock.pass(1000);
    await waits(id);
    recover();
    await clock.pass(1000);
    await until(async () => (await statusOf(id)) === 'succeeded');
    assert.equal((await world.must('get_flow_run', { id })).steps[0].attempts, 1);
    assert.equal(await world.store.skills.count({}), 1);

    recover = refuse();
    const failing = await world.must('trigger_flow', { id: flow.id, input: { x: 'never' } });
    for (let passed = 0; (await statusOf(failing.id)) !== 'failed'; passed += 30_000) {
      assert.ok(passed <= 11 * 60_000, 'ends after ten minutes');
      await clock.pass(30_000);
      await until(async () => (await statusOf(failing.id)) === 'failed' || (await isWaiting(failing.id, clock)));
    }
    recover();
    const { steps } = await world.must('get_flow_run', { id: failing.id });
    assert.deepEqual([steps[0].status, steps[0].attempts, steps[0].error.code], ['failed', 1, 'unavailable']);
  });

  it('runs what it began although the answer got lost', async () => {
    const clock = new FakeClock('2026-06-01T00:00:00Z');
    const flow = await open(clock);
    const { id } = await left(flow);
    loseAnswer(world.store, ({ collection }) => collection === 'flowRuns');
    world.engine.wake(flow.id);
    await until(() => world.failures.length > 0);
    await clock.pass(1000);
    await until(async () => (await statusOf(id)) === 'succeeded');
    assert.equal(calls, 1);
  });

  it('runs once what it took over of a process that is gone although the answer got lost', async () => {
    const flow = await open();
    const { worker } = world.store.jobs;
    const steps = [{ id: 'a', tool: 'counts', status: 'pending', attempts: 0 }];
    const run = await left(flow, { status: 'running', worker: 'gone', plan: flow.steps, steps });
    if (worker === undefined) await world.restart();
    else loseAnswer(world.store, ({ collection }) => collection === 'flowRuns');
    await until(async () => (await statusOf(run.id)) === 'succeeded');
    assert.equal(calls, 1);
  });

  it('begins once what is triggered or retried again under the same key, as the first answer got lost', async () => {
    const flow = await open();
    for (const [at, tool] of ['trigger_flow', 'retry_flow_run'].entries()) {
      const input = { id: (await world.runs(flow.id))[0]?.id ?? flow.id };
      const call = { principal: world.admin, tool, input, idempotency: { key: 'one', operation: tool } };
      const make = () => world.registry.call({ ...call, door: 'mcp', requestId: 'test' });
      loseAnswer(world.store, ({ collection }) => collection === 'flowRuns');
      assert.deepEqual([(await make()).ok, (await make()).ok], [false, true]);
      await until(async () => (await world.runs(flow.id)).every(({ status }) => status === 'succeeded'));
      assert.deepEqual([(await world.runs(flow.id)).length, calls], [at + 1, at + 1]);
    }
  });

  it('answers the waiting calls when a run that has not begun is cancelled, or purged with its flow', async () => {
    const flow = await open();
    const release = hold();
    await world.must('trigger_flow', { id: flow.id });
    await until(async () => calls === 1);
    const lookedUp = new Set<string>();
    const get = world.store.flowRuns.get.bind(world.store.flowRuns);
    Object.assign(world.store.flowRuns, { get: (id: string) => get(id).finally(() => lookedUp.add(id)) });
    for (const end of ['cancel', 'purge']) {
      const waiting = world.must('trigger_flow', { id: flow.id, wait: true });
      let queued: { id: string }[] = [];
      await until(async () => {
        queued = (await world.runs(flow.id)).filter(({ status }) => status === 'queued');
        return queued.length === 1;
      });
      await until(() => lookedUp.has(queued[0]?.id ?? '')); // who waits for its end follows it by now
      if (end === 'cancel') await world.must('cancel_flow_run', { id: queued[0]?.id });
      else await world.must('purge_record', { entityType: 'flow', id: flow.id });
      const told = await Promise.race([waiting, setTimeout(30_000, undefined, { ref: false })]);
      assert.equal(told?.status, end === 'cancel' ? 'cancelled' : 'queued');
    }
    release();
  });

  it('has room for the runs that others wait for', { timeout: 240_000 }, async () => {
    const inner = await open();
    const first = { id: 'a', tool: 'counts', arguments: {} };
    const steps = [first, { id: 'b', tool: 'trigger_flow', arguments: { id: inner.id, wait: true } }];
    const outer = await world.flow({ name: 'outer', overlap: 'allow', steps });
    const release = hold();
    const all = Promise.all(Array.from({ length: 20 }, () => world.run(outer.id)));
    await until(async () => calls === 16);
    release();
    assert.deepEqual([...new Set((await all).map(({ status }) => status))], ['succeeded']);
    assert.equal(calls, 40);
  });

  it('fails at once a run that would wait for itself by way of others', { timeout: 240_000 }, async () => {
    const names = ['one', 'two', 'three'];
    await open();
    const flows = await Promise.all(
      names.map((name) => world.flow({ name, steps: [{ id: 'a', tool: 'counts', arguments: {} }] })),
    );
    for (const [at, { id }] of flows.entries()) {
      const next = { id: 'b', tool: 'trigger_flow', arguments: { id: flows[(at + 1) % 3]?.id, wait: true } };
      await world.must('update_flow', { id, steps: [{ id: 'a', tool: 'counts', arguments: {} }, next] });
    }
    const release = hold();
    const all = Promise.all(flows.map(({ id }) => world.run(id)));
    await until(async () => calls === 3);
    release();
    const ended = await all;
    const failed = ended.filter(({ status }) => status === 'failed');
    assert.ok(failed.length > 0, JSON.stringify(ended));
    assert.match(failed.map(({ error }) => error?.message).join(), /would wait for itself/);
    for (const { id } of flows) {
      await until(async () => (await world.runs(id)).every(({ status }) => !['queued', 'running'].includes(status)));
    }
  });

  it('lets runs wait for one another that do not stand in each other’s way', { timeout: 240_000 }, async () => {
    const inner = await open();
    const wait = { id: 'b', tool: 'trigger_flow', arguments: { id: inner.id, wait: true } };
    const [one, two] = [
      await world.flow({ name: 'one', steps: [wait] }),
      await world.flow({ name: 'two', steps: [wait] }),
    ];
    const release = hold();
    const both = Promise.all([world.run(one.id), world.run(two.id)]);
    await until(async () => (await world.runs(inner.id)).length === 2);
    release();
    assert.deepEqual(pluck(await both, 'status'), ['succeeded', 'succeeded']);
  });

  it('ends a run that was cancelled before the server ended', async () => {
    const flow = await open();
    const steps = [{ id: 'a', tool: 'counts', status: 'pending', attempts: 0 }];
    const plan = flow.steps ?? [];
    const run = await left(flow, { status: 'running', steps, plan });
    assert.equal((await world.must('cancel_flow_run', { id: run.id })).status, 'running');
    await world.restart();
    await until(async () => (await statusOf(run.id)) === 'cancelled');
    assert.equal(calls, 0);
  });

  it('repeats an interrupted call as it was, whatever the time', async () => {
    const clock = new FakeClock('2026-06-01T00:00:00Z');
    await open(clock);
    const name = '{{ "now" | date: "%s %L" }}';
    const step = { id: 'a', tool: 'create_skill', arguments: { name, instructions: 'x' } };
    const { id } = await world.flow({ steps: [{ ...step, retry: { attempts: 3, delayMs: 0 } }] });
    world.store.onCommit(({ changes }) => {
      if (changes.some(({ collection, kind }) => collection === 'skills' && kind === 'created')) fullDisk();
    });
    const { id: runId } = await world.must('trigger_flow', { id });
    await until(async () => world.failures.length > 0);
    await world.restart();
    await until(async () => (await statusOf(runId)) === 'succeeded');
    assert.equal((await world.store.skills.find({ limit: 10 })).records.length, 1);
    assert.equal('underWay' in ((await world.store.flowRuns.get(runId)) ?? {}), false);
  });

  it('does not begin a step again whose tool is gone', async () => {
    const flow = await open();
    const steps = [{ id: 'a', tool: 'gone', status: 'running', attempts: 1, startedAt: new Date().toISOString() }];
    const plan = (flow.steps ?? []).map((step) => ({ ...step, tool: 'gone' }));
    const run = await left(flow, { status: 'running', steps, plan });
    await world.restart();
    await until(async () => (await statusOf(run.id)) === 'failed');
    assert.match((await world.store.flowRuns.get(run.id))?.error?.message ?? '', /whether it took effect is not known/);
  });

  it('takes inputs up to 256 KiB, and lists runs in pages of some size', async () => {
    const flow = await open();
    assert.equal(
      await world.codeOf('trigger_flow', { id: flow.id, input: { text: 'x'.repeat(300_000) } }),
      'invalid_input',
    );
    for (let n = 0; n < 6; n += 1) await world.run(flow.id, { text: 'x'.repeat(250_000) });
    const page = await world.must('list_flow_runs', { id: flow.id, limit: 100 });
    assert.ok(page.data.length < 6 && page.nextCursor);
  });
});
