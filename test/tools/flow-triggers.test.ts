import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { defineTool } from '../../tools/core/registry/define-tool.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { testTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let world: FlowWorld;
afterEach(() => world.close());

const note = (name: string) => [{ id: 'a', tool: 'list_agents', arguments: {} }, skill(name)];
const skill = (name: string) => ({ id: 'b', tool: 'create_skill', arguments: { name, instructions: 'x' } });

async function scheduled(start: string, expression: string, timezone: string, more: object = {}) {
  const clock = new FakeClock(start);
  world = await FlowWorld.open({ clock });
  clock.settle = settle;
  const { id } = await world.flow({
    trigger: { kind: 'cron', expression, timezone },
    steps: note('{{ input.at }}'),
    ...more,
  });
  return { clock, id };
}

/** Waits until the runs that a timer began are queued and have ended. */
async function settle(): Promise<void> {
  await setTimeout(2);
  await until(() => world.due === 0);
  const open = () => world.store.flowRuns.count({ where: { status: ['queued', 'running'] } });
  await until(async () => (await open()) === 0);
}

/** The times of the schedule for which runs began, and what became of them. */
async function times(id: string): Promise<string[]> {
  await until(async () => (await world.runs(id)).every(({ status }) => status !== 'queued' && status !== 'running'));
  const runs = await world.runs(id);
  return runs.map(({ trigger, status }) => `${trigger.kind === 'cron' ? trigger.at : trigger.kind} ${status}`);
}

describe('a schedule', () => {
  it('comes once at each of its times, also when the clock is set back over one, with a restart or without', async () => {
    const { clock, id } = await scheduled('2026-03-01T00:00:00Z', '0 1 * * *', 'UTC');
    await clock.pass(HOUR + 10_000);
    for (const restarts of [false, true]) {
      await clock.jump(-30_000);
      if (restarts) await world.restart();
      else
        await world.must('update_flow', { id, trigger: { kind: 'cron', expression: '00 1 * * *', timezone: 'UTC' } });
      await clock.pass(60_000);
    }
    assert.deepEqual(await times(id), ['2026-03-01T01:00:00.000Z succeeded']);
  });

  it('keeps the local time when the clocks go forward, and does not come twice when they go back', async () => {
    const spring = await scheduled('2026-03-28T00:00:00Z', '30 2 * * *', 'Europe/Berlin');
    for (let hour = 0; hour < 72; hour += 1) await spring.clock.pass(HOUR);
    // 29 March has no 02:30; the run comes with the end of the hour that is left out.
    assert.deepEqual(await times(spring.id), [
      '2026-03-28T01:30:00.000Z succeeded',
      '2026-03-29T01:00:00.000Z succeeded',
      '2026-03-30T00:30:00.000Z succeeded',
    ]);
    await world.close();
    const autumn = await scheduled('2026-10-24T00:00:00Z', '30 2 * * *', 'Europe/Berlin');
    for (let hour = 0; hour < 72; hour += 1) await autumn.clock.pass(HOUR);
    assert.deepEqual(await times(autumn.id), [
      '2026-10-24T00:30:00.000Z succeeded',
      '2026-10-25T00:30:00.000Z succeeded',
      '2026-10-26T01:30:00.000Z succeeded',
    ]);
  });

  it('makes nothing up: not after the machine slept, nor after the server was down', async () => {
    const { clock, id } = await scheduled('2026-06-01T00:00:00Z', '0 * * * *', 'UTC');
    await clock.pass(HOUR + 1000);
    await clock.jump(10 * HOUR + HOUR / 2);
    await clock.pass(HOUR / 2);
    await world.stop();
    await clock.jump(5 * DAY);
    await world.start();
    await clock.pass(HOUR);
    assert.deepEqual(await times(id), [
      '2026-06-01T01:00:00.000Z succeeded',
      '2026-06-01T12:00:00.000Z succeeded',
      '2026-06-06T13:00:00.000Z succeeded',
    ]);
  });

  it('follows the flow: changed, disabled, enabled, deleted, restored', async () => {
    const { clock, id } = await scheduled('2026-06-01T00:00:00Z', '0 * * * *', 'UTC');
    const trigger = { kind: 'cron', expression: '30 * * * *', timezone: 'UTC' };
    await world.must('update_flow', { id, trigger });
    await clock.pass(HOUR);
    await world.must('update_flow', { id, enabled: false });
    await clock.pass(3 * HOUR);
    await world.must('update_flow', { id, enabled: true });
    await clock.pass(HOUR);
    await world.must('delete_flow', { id });
    await clock.pass(3 * HOUR);
    assert.deepEqual(await times(id), ['2026-06-01T00:30:00.000Z succeeded', '2026-06-01T04:30:00.000Z succeeded']);
    const { data } = await world.must('list_versions', { entityType: 'flow', entityId: id, limit: 1 });
    await world.must('restore_version', { entityType: 'flow', entityId: id, versionId: data[0].id });
    await clock.pass(HOUR);
    assert.equal((await times(id)).length, 3);
  });

  it('leaves out, and says so, a run that is due while the one before it goes on', async () => {
    const { clock, id } = await scheduled('2026-06-01T00:00:00Z', '* * * * *', 'UTC');
    await world.store.transaction(async (tx) => {
      const flow = await tx.flows.get(id);
      assert.ok(flow);
      const trigger = { kind: 'manual', by: flow.runAs } as const;
      const run = { flowId: id, runAs: flow.runAs, trigger, steps: [], plan: [], causes: [] };
      await tx.flowRuns.insert({ ...run, status: 'running' });
    });
    const due = async () => (await world.runs(id)).find(({ trigger }) => trigger.kind === 'cron');
    clock.settle = () => until(async () => (await due()) !== undefined); // the one before it does not end
    await clock.pass(61_000);
    const left = await due();
    assert.equal(left?.status, 'cancelled');
    assert.match(left?.error?.message ?? '', /had not ended/);
  });
});

describe('a schedule of a flow', () => {
  it('that has nothing to do yet starts nothing, and logs nothing every minute', async () => {
    const { clock, id } = await scheduled('2026-06-01T00:00:00Z', '* * * * *', 'UTC', { steps: [] });
    await clock.pass(HOUR / 6);
    assert.deepEqual([await times(id), world.failures], [[], []]);
    await world.must('update_flow', { id, steps: note('now') });
    await clock.pass(61_000);
    assert.equal((await times(id)).length, 1);
  });

  it('that was due when something else of the flow changed is not forgotten', async () => {
    const { clock, id } = await scheduled('2026-06-01T00:00:30Z', '* * * * *', 'UTC');
    clock.now = () => new Date('2026-06-01T00:01:01Z');
    await world.must('update_flow', { id, description: 'changed' });
    await clock.pass(31_000);
    assert.equal((await times(id))[0], '2026-06-01T00:01:00.000Z succeeded');
  });
});

describe('an event', () => {
  const open = async () => {
    world = await FlowWorld.open();
  };
  const listening = (type: string, more: object = {}, principal?: Parameters<FlowWorld['flow']>[1]) =>
    world.flow(
      { trigger: { kind: 'event', type }, steps: [{ id: 'a', tool: 'list_agents', arguments: {} }], ...more },
      principal,
    );
  const ended = async (id: string, count: number) =>
    until(async () => (await world.runs(id)).filter(({ status }) => status === 'succeeded').length === count);

  it('begins a run of each flow that waits for it, with the record it is about', async () => {
    await open();
    const { id } = await listening('skill.updated');
    const other = await listening('skill.deleted');
    const made = await world.must('create_skill', { name: 'one', instructions: 'x' });
    await world.must('update_skill', { id: made.id, instructions: 'y' });
    await ended(id, 1);
    const [run] = await world.runs(id);
    assert.deepEqual(run?.trigger, { kind: 'event', type: 'skill.updated', id: made.id });
    assert.deepEqual(run?.input, { type: 'skill.updated', id: made.id });
    assert.equal((await world.runs(other.id)).length, 0);
    await world.must('delete_skill', { id: made.id });
    await ended(other.id, 1);
  });

  it('of messages and of deleted agents has a name of its own', async () => {
    await open();
    const message = await listening('thread.message.created');
    const agent = await listening('agent.deleted');
    await world.must('send_chat_message', { message: 'hello' });
    await ended(message.id, 2);
    const { id } = await world.must('create_agent', { name: 'ada', displayName: 'Ada' });
    await world.must('delete_agent', { id });
    await ended(agent.id, 1);
  });

  it('is known only where runAs may read the record', async () => {
    await open();
    const reader = await world.key(['flows:write', 'agents:read', 'threads:read']);
    const blind = await listening('skill.created', {}, reader);
    const threads = await listening('thread.created', {}, reader);
    const restricted = await listening('thread.updated', {}, reader);
    const sees = await listening('skill.created');
    await world.must('create_skill', { name: 'unseen', instructions: 'x' });
    await ended(sees.id, 1);
    const thread = await world.must('create_thread', { title: 'seen' });
    await ended(threads.id, 1);
    await world.must('update_thread_access', { id: thread.id, visibility: 'restricted' });
    await world.must('update_thread', { id: thread.id, title: 'unseen' });
    await world.must('create_skill', { name: 'last', instructions: 'x' });
    await ended(sees.id, 2); // events are looked at in their order
    assert.equal((await world.runs(blind.id)).length, 0);
    assert.ok((await world.runs(restricted.id)).length <= 1);
  });

  it('of a run’s own doing begins no run of the same flow, and the third flow in a row is the last', async () => {
    await open();
    const makes = (name: string) => ({ steps: [skill(`${name} {{ input.id }}`)] });
    const flows: Awaited<ReturnType<FlowWorld['flow']>>[] = [];
    for (const name of ['a', 'b', 'c', 'd']) flows.push(await listening('skill.created', makes(name)));
    await world.must('create_skill', { name: 'first', instructions: 'x' });
    // One skill sets four flows off; each of theirs the three others; each of those the two others; and there it ends.
    const all = async () => (await Promise.all(flows.map(({ id }) => world.runs(id)))).flat();
    await until(async () => (await all()).filter(({ status }) => status === 'succeeded').length === 4 + 12 + 24);
    const last = await listening('goal.created');
    await world.must('create_goal', { title: 'last' });
    await ended(last.id, 1); // events are looked at in their order
    assert.equal((await all()).length, 40);
  });

  it('of a restricted thread that is deleted is nobody’s who did not see it', async () => {
    await open();
    const reader = await world.key(['flows:write', 'agents:read', 'threads:read']);
    const types = ['thread.deleted', 'thread.message.deleted'];
    const blind = await Promise.all(types.map((type) => listening(type, {}, reader)));
    const [sees] = await Promise.all(types.map((type) => listening(type)));
    const { threadId } = await world.must('send_chat_message', { message: 'secret' });
    await world.must('update_thread_access', { id: threadId, visibility: 'restricted' });
    await world.must('delete_thread', { id: threadId });
    await ended(sees?.id ?? '', 1);
    const forAll = await world.must('create_thread', { title: 'for all' });
    await world.must('delete_thread', { id: forAll.id });
    await ended(blind[0]?.id ?? '', 1); // events are looked at in their order
    const [threads, messages] = await Promise.all(blind.map(({ id }) => world.runs(id)));
    assert.deepEqual([threads?.length, messages], [1, []]);
  });

  it('are looked at within bounds if there are very many, and what is left out is logged once', async () => {
    await open();
    const { id } = await listening('skill.created', { enabled: true });
    const many = Array.from({ length: 6000 }, (_, n) => ({ name: `many ${n}`, instructions: 'x' }));
    await world.store.transaction((tx) => tx.skills.insertAll(many));
    await until(async () => world.failures.length >= 2);
    assert.ok((await world.store.flowRuns.count({ where: { flowId: id } })) >= 100);
    assert.ok(world.failures.length < 10, `${world.failures.length} failures`);
    assert.match(world.failures.map(String).join(), /1000 times: 5000 other events waited/);
    assert.match(world.failures.map(String).join(), /runs of this flow wait already/);
  });

  it('begins as many runs as may wait, the earliest events first, where many come together', async () => {
    let letGo = () => {};
    const passed = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const waits = defineTool({
      ...testTool,
      name: 'waits',

      async handler() {
        await passed;
        return { ok: true };
      },
    });
    world = await FlowWorld.open({ tools: [waits] });
    // The first run goes on, and the others wait for it.
    const { id } = await listening('skill.created', { steps: [{ id: 'a', tool: 'waits', arguments: {} }] });
    const count = (status: 'running' | 'queued') => world.store.flowRuns.count({ where: { flowId: id, status } });
    const make = (name: string, times: number) => {
      const many = Array.from({ length: times }, (_, n) => ({ name: `${name} ${n}`, instructions: 'x' }));
      return world.store.transaction((tx) => tx.skills.insertAll(many));
    };
    const skills = [...(await make('first', 1))];
    await until(async () => (await count('running')) === 1);
    skills.push(...(await make('waits', 30)));
    await until(async () => (await count('queued')) === 30);
    skills.push(...(await make('many', 100)));
    await until(() => world.failures.length > 0);
    assert.match(String(world.failures[0]), /30 times: \w+: 100 runs of this flow wait already/);
    const { records } = await world.store.flowRuns.find({ where: { flowId: id }, order: 'oldest', limit: 200 });
    const about = records.map(({ trigger }) => trigger.kind === 'event' && trigger.id);
    assert.deepEqual(
      about.sort(),
      skills
        .slice(0, 101)
        .map((skill) => skill.id)
        .sort(),
    );
    letGo();
  });

  it('must be one there is', async () => {
    await open();
    assert.match(
      (await world.refused('create_flow', { name: 'x', trigger: { kind: 'event', type: 'agent.update' } })).error,
      /similar ones: agent\.updated/,
    );
  });
});
