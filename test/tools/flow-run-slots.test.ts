import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { afterEach, describe, it } from 'node:test';
import type { Flow } from '../../resources/flow.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { defineTool } from '../../tools/core/registry/define-tool.ts';
import { RunSlots } from '../../tools/flows/run/run-slots.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { rounds } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import { testTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';

const HOUR = 3_600_000;
const MANY = rounds(300, 1000);

let tries = 0;
let onTry = () => {};
let begun = 0;
let release = () => {};
let held = Promise.resolve();
const tools = [
  defineTool({
    ...testTool,
    name: 'is_away',
    async handler(_, { fail }) {
      tries += 1;
      onTry();
      throw fail('unavailable', 'Not now.');
    },
  }),
  defineTool({
    ...testTool,
    name: 'holds',
    async handler() {
      begun += 1;
      await held;
      return { ok: true };
    },
  }),
];

let world: FlowWorld;
afterEach(() => {
  release();
  return world.close();
});

async function open(): Promise<FakeClock> {
  tries = 0;
  onTry = () => {};
  begun = 0;
  held = new Promise((resolve) => {
    release = resolve;
  });
  const clock = new FakeClock('2026-06-01T00:00:00Z');
  world = await FlowWorld.open({ clock, tools });
  return clock;
}

const waiting = { id: 'a', tool: 'is_away', arguments: {}, retry: { attempts: 5, delayMs: HOUR } };
const holding = { id: 'a', tool: 'holds', arguments: {} };
const quick = { id: 'a', tool: 'create_skill', arguments: { name: '{{ input.name }}', instructions: 'x' } };

/** Flows of the owner with so many runs of each in their queues, as if triggered one after the other. */
async function queued(step: object, owner: Principal, count: number): Promise<Flow[]> {
  const flows: Flow[] = [];
  for (let left = count; left > 0; left -= 100) {
    const flow = await world.flow({ steps: [step], overlap: 'allow' }, owner);
    flows.push(flow);
    await world.store.transaction(async (tx) => {
      for (let n = 0; n < Math.min(left, 100); n += 1) await tx.flowRuns.insert(runOf(flow, owner.ownerId));
    });
  }
  return flows;
}

function runOf({ id: flowId, runAs }: Flow, ownerId: string) {
  const trigger = { kind: 'manual', by: runAs } as const;
  return { flowId, runAs, ownerId, trigger, status: 'queued' as const, steps: [], plan: [], causes: [] };
}

describe('runs that wait', () => {
  it('for their next try hold up nobody', async () => {
    await open();
    const [owner, other] = [await world.key(['write']), await world.key(['write'])];
    for (const { id } of await queued(waiting, owner, 100)) world.engine.wake(id);
    await until(() => tries === 100);
    for (const [at, who] of [owner, other].entries()) {
      const { id } = await world.flow({ steps: [quick] }, who);
      assert.equal((await world.run(id, { name: `n${at}` })).status, 'succeeded');
    }
  });

  it('try again when it is time, and not before, also after a restart', async () => {
    const clock = await open();
    const { id } = await world.flow({ steps: [waiting] });
    const { id: runId } = await world.must('trigger_flow', { id });
    const due = async () => (await world.store.flowRuns.get(runId))?.steps[0]?.retryAt;
    await until(async () => (await due()) === '2026-06-01T01:00:00.000Z');
    await clock.pass(HOUR - 60_000);
    await world.restart();
    await clock.pass(30_000);
    assert.equal(tries, 1);
    await clock.pass(31_000);
    await until(async () => (await due())?.startsWith('2026-06-01T02:00') === true);
    assert.equal(tries, 2);
    const run = await world.must('get_flow_run', { id: runId });
    assert.deepEqual([run.status, run.steps[0].status, run.steps[0].attempts], ['running', 'pending', 2]);
    assert.equal((await world.must('cancel_flow_run', { id: runId })).status, 'running');
    await until(async () => (await world.must('get_flow_run', { id: runId })).status === 'cancelled');
  });

  it('try again at once where the clock was ahead when the time was set', async () => {
    const clock = await open();
    onTry = () => void clock.jump(300_000); // less than a call of a step takes at most
    const { id } = await world.flow({ steps: [waiting] });
    const { id: runId } = await world.must('trigger_flow', { id });
    await until(async () => (await world.store.flowRuns.get(runId))?.steps[0]?.retryAt !== undefined);
    onTry = () => {};
    await clock.jump(-300_000);
    await world.restart();
    await until(() => tries === 2);
  });
});

describe('a run that waits for another', () => {
  it('waits for the same one again after a restart, which is made once', async () => {
    const clock = await open();
    // A call of a step takes ten minutes at most.
    const retry = { attempts: 2, delayMs: 300_000 };
    const inner = await world.flow({ name: 'inner', steps: [{ ...waiting, retry }] });
    const call = { tool: 'trigger_flow', arguments: { id: inner.id, wait: true } };
    const outer = await world.flow({
      name: 'outer',
      steps: [
        { id: 'waits', ...call },
        { ...quick, id: 'then' },
      ],
    });
    const { id } = await world.must('trigger_flow', { id: outer.id, input: { name: 'after it' } });
    await until(async () => (await world.runs(inner.id))[0]?.steps[0]?.retryAt !== undefined);
    await world.restart();
    assert.equal((await world.must('get_flow_run', { id })).status, 'running');
    await clock.pass(360_000);
    await until(async () => (await world.must('get_flow_run', { id })).status === 'succeeded');
    const runs = await world.runs(inner.id);
    assert.deepEqual(pluck(runs, 'status'), ['failed']);
    const { steps } = await world.must('get_flow_run', { id });
    assert.deepEqual([steps[0].output.id, steps[0].output.status, steps[0].attempts], [runs[0]?.id, 'failed', 1]);
    assert.equal(tries, 2);
  });

  it('goes on after kill -9, as the process that it left finds it', async () => {
    await open();
    const inner = await world.flow({ name: 'inner', steps: [quick] });
    const steps = [
      { id: 'waits', tool: 'trigger_flow', arguments: { id: inner.id, input: { name: 'inner' }, wait: true } },
    ];
    const outer = await world.flow({ name: 'outer', steps });
    const { runAs } = outer;
    const step = { id: 'waits', tool: 'trigger_flow', status: 'running', attempts: 1 } as const;
    const left = await world.store.transaction(async (tx) => {
      const startedAt = new Date().toISOString();
      const outerRun = {
        ...runOf(outer, 'usr_x'),
        status: 'running',
        plan: outer.steps ?? [],
        steps: [{ ...step, startedAt }],
      } as const;
      const run = await tx.flowRuns.insert({
        ...outerRun,
        underWay: { step: 'waits', arguments: steps[0]?.arguments ?? {} },
        plan: [...outerRun.plan],
        steps: [...outerRun.steps],
        runAs,
        causes: [],
      });
      await tx.flowRuns.insert({ ...runOf(inner, 'usr_x'), input: { name: 'inner' }, begunBy: `${run.id} waits 1` });
      return run;
    });
    await world.restart();
    await until(async () => (await world.must('get_flow_run', { id: left.id })).status === 'succeeded');
    assert.equal((await world.runs(inner.id)).length, 1);
  });

  it('leaves none waiting when it is cancelled', async () => {
    await open();
    const inner = await world.flow({ name: 'inner', steps: [waiting] });
    const steps = [{ id: 'waits', tool: 'trigger_flow', arguments: { id: inner.id, wait: true } }];
    const outer = await world.flow({ name: 'outer', steps });
    const { id } = await world.must('trigger_flow', { id: outer.id });
    await until(async () => (await world.runs(inner.id))[0]?.steps[0]?.retryAt !== undefined);
    await world.must('cancel_flow_run', { id });
    await until(async () => (await world.must('get_flow_run', { id })).status === 'cancelled');
    assert.equal((await world.runs(inner.id))[0]?.status, 'running', 'it is a run of its own');
  });
});

describe('runs of one owner', () => {
  it(`do not hold up the run of another owner when ${MANY} are queued and none ends`, async () => {
    await open();
    const [owner, other] = [await world.key(['write']), await world.key(['write'])];
    for (const { id } of await queued(holding, owner, MANY)) world.engine.wake(id);
    await until(() => begun === 16);
    const { id } = await world.flow({ steps: [quick] }, other);
    assert.equal((await world.run(id, { name: 'at once' })).status, 'succeeded');
    assert.equal(begun, 16);
    release();
    await until(async () => (await world.store.flowRuns.count({ where: { status: ['queued', 'running'] } })) === 0);
    assert.equal(begun, MANY);
  });

  it('are refused beyond 1,000 that are open, a scheduled one with a record of it', async () => {
    const clock = await open();
    const owner = await world.key(['write']);
    const flow = await world.flow({ steps: [holding], overlap: 'allow' }, owner);
    await world.store.transaction(async (tx) => {
      for (let n = 0; n < 1000; n += 1) {
        await tx.flowRuns.insert({ ...runOf(flow, owner.ownerId), status: 'running' });
      }
    });
    const { id } = await world.flow({ steps: [quick], trigger: { kind: 'cron', expression: '0 1 * * *' } }, owner);
    const answer = await world.refused('trigger_flow', { id }, owner);
    assert.equal(answer.code, 'conflict');
    assert.match(answer.error, /1000 runs of flows of the same owner .*cancel_flow_run/);
    await clock.pass(2 * HOUR);
    await until(async () => (await world.runs(id)).length === 1);
    const [run] = await world.runs(id);
    assert.equal(run?.status, 'cancelled');
    assert.match(run?.error?.message ?? '', /1000 runs/);
    const { id: others } = await world.flow({ steps: [quick] });
    assert.equal((await world.run(others, { name: 'of another' })).status, 'succeeded');
  });
});

describe('places', () => {
  const never = new AbortController().signal;
  setMaxListeners(0, never);

  it('go to the owner who has the fewest, and to those who wait longest among equals', async () => {
    world = await FlowWorld.open();
    const places = new RunSlots();
    const got: string[] = [];
    const take = (owner: string) => void places.take(owner, never).then(() => got.push(owner));
    for (let n = 0; n < 16; n += 1) take('a');
    for (const owner of ['a', 'a', 'b', 'b', 'c']) take(owner);
    await until(() => got.length === 18);
    assert.deepEqual(got.slice(16), ['b', 'c'], 'one each beyond the 16');
    for (let n = 0; n < 3; n += 1) places.leave('a');
    await until(() => got.length === 19);
    assert.deepEqual(got.slice(18), ['b']);
    places.leave('b');
    places.leave('c');
    await until(() => got.length === 21);
    assert.deepEqual(got.slice(19), ['a', 'a']);
  });

  it('are bounded in all, however many owners there are', async () => {
    world = await FlowWorld.open();
    const places = new RunSlots();
    const left = new AbortController();
    setMaxListeners(0, left.signal);
    let got = 0;
    const all = Array.from({ length: 100 }, (_, at) =>
      places.take(`owner ${at}`, left.signal).then((has) => {
        got += has ? 1 : 0;
      }),
    );
    left.abort();
    await Promise.all(all);
    assert.equal(got, 48);
  });
});
