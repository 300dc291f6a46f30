import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Database } from '../../store/postgres/database.ts';
import { defineTool } from '../../tools/core/registry/define-tool.ts';
import { claimRun } from '../../tools/flows/run/claim-run.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { toolsThatDie } from '../support/dying-tools.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { FULL, rounds } from '../support/full.ts';
import { nodeArgs } from '../support/node-args.ts';
import { pluck } from '../support/pluck.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { testTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';

const CHILD = fileURLToPath(new URL('flow-cluster-child.ts', import.meta.url));
const MANY = rounds(30, 90);
const HOUR = 3_600_000;

let calls = 0;
let atOnce = 0;
let most = 0;
let held = Promise.resolve();
let release = () => {};
const counts = defineTool({
  ...testTool,
  name: 'counts',

  async handler() {
    calls += 1;
    atOnce += 1;
    most = Math.max(most, atOnce);
    await held;
    atOnce -= 1;
    return { ok: true };
  },
});
const isAway = defineTool({
  ...testTool,
  name: 'is_away',
  async handler(_, { fail }) {
    throw fail('unavailable', 'Not now.');
  },
});
const counted = [{ id: 'a', tool: 'counts', arguments: {} }];
const tools = [counts, isAway, ...toolsThatDie(false)];

let worlds: FlowWorld[] = [];
afterEach(async () => {
  release();
  for (const world of worlds) await world.close();
});

/** Servers on one database. Each has a connection, a cache and an engine of its own, as in a process of its own. */
async function open(count: number, clock?: FakeClock): Promise<[FlowWorld, FlowWorld, FlowWorld]> {
  [calls, atOnce, most, held] = [0, 0, 0, Promise.resolve()];
  const { url } = await testDatabase();
  return openOn(url, count, clock);
}

async function openOn(url: string, count: number, clock?: FakeClock): Promise<[FlowWorld, FlowWorld, FlowWorld]> {
  worlds = [];
  for (let n = 0; n < count; n += 1) worlds.push(await FlowWorld.open({ url, tools, ...(clock && { clock }) }));
  return worlds as [FlowWorld, FlowWorld, FlowWorld];
}

function hold(): void {
  held = new Promise((resolve) => {
    release = resolve;
  });
}

const idle = async (world: FlowWorld) =>
  (await world.store.flowRuns.count({ where: { status: ['queued', 'running'] } })) === 0;

describe('flows of three processes', { skip: withoutPostgres }, () => {
  it(`have each of ${MANY} runs run once, by whichever process`, async () => {
    const [one, two, three] = await open(3);
    const { id } = await one.flow({ steps: counted, overlap: 'allow' });
    const from = [one, two, three];
    const each = Array.from({ length: MANY }, (_, n) => from[n % 3]?.must('trigger_flow', { id }));
    await Promise.all(each);
    await until(() => idle(two));
    assert.equal(calls, MANY);
    const { records } = await three.store.flowRuns.find({ where: { flowId: id }, limit: 1000 });
    assert.deepEqual([...new Set(records.map(({ status }) => status))], ['succeeded']);
  });

  it('run one after the other where they may not overlap, and answer who waits in another process', async () => {
    const [one, two, three] = await open(3);
    const { id } = await one.flow({ steps: counted });
    const runs = await Promise.all([one, two, three, one, two, three].map((world) => world.run(id)));
    assert.deepEqual([runs.map(({ status }) => status), calls, most], [Array(6).fill('succeeded'), 6, 1]);
  });

  it('are cancelled from every process, also while they wait for their next try', async () => {
    const [one, two, three] = await open(3);
    const away = [{ id: 'a', tool: 'is_away', arguments: {}, retry: { attempts: 2, delayMs: HOUR } }];
    const { id } = await one.flow({ steps: away, overlap: 'allow' });
    for (const world of [one, two, three]) {
      const { id: runId } = await one.must('trigger_flow', { id });
      const run = () => one.store.flowRuns.read(runId);
      await until(async () => (await run()).steps[0]?.retryAt !== undefined);
      assert.equal((await world.must('cancel_flow_run', { id: runId })).status, 'running');
      await until(async () => (await run()).status === 'cancelled');
    }
  });

  it('are taken over by one of those who find them left', async () => {
    const all = await open(3);
    hold();
    const { id } = await all[0].flow({ steps: counted });
    const { id: runId } = await all[0].must('trigger_flow', { id });
    await until(() => calls === 1);
    const left = await all[0].store.flowRuns.read(runId);
    const others = all.filter(({ store }) => store.jobs.worker !== left.worker);
    const claims = await Promise.all(others.map(({ store }) => claimRun(store, left)));
    assert.deepEqual([others.length, claims.filter((run) => run !== undefined).length], [2, 1]);
  });

  it('come once at each time of their schedule, and once for each event', async () => {
    const clock = new FakeClock('2026-06-01T00:30:00Z');
    const [one, two, three] = await open(3, clock);
    const { id } = await one.flow({ steps: counted, trigger: { kind: 'cron', expression: '0 * * * *' } });
    const heard = new Set<string>();
    three.store.onCommit(({ changes }) => changes.forEach(({ record }) => void heard.add(record.id)), ['flows']);
    const listening = await two.flow({ steps: counted, trigger: { kind: 'event', type: 'agent.created' } });
    await until(() => heard.has(listening.id)); // before that, an event at `three` begins nothing
    const runs = async () => (await one.runs(id)).map(({ trigger }) => trigger.kind === 'cron' && trigger.at);
    for (const hour of [1, 2, 3]) {
      await clock.pass(HOUR);
      await until(async () => (await runs()).length === hour && (await idle(one)));
    }
    await clock.pass(HOUR / 2); // those that do not lead look now, and find nothing to do
    const times = [1, 2, 3].map((hour) => `2026-06-01T0${hour}:00:00.000Z`);
    assert.deepEqual(await runs(), times);
    await three.must('create_agent', { name: 'ada', displayName: 'Ada' });
    await until(async () => (await one.runs(listening.id)).length > 0 && (await idle(one)));
    assert.equal((await two.runs(listening.id)).length, 1);
  });

  it('fail at once where they would wait for themselves by way of others', async () => {
    const all = await open(3);
    const flows = await Promise.all(all.map((world, at) => world.flow({ name: `flow ${at}`, steps: counted })));
    for (const [at, { id }] of flows.entries()) {
      const next = { id: 'b', tool: 'trigger_flow', arguments: { id: flows[(at + 1) % 3]?.id, wait: true } };
      await all[0].must('update_flow', { id, steps: [...counted, next] });
    }
    hold();
    const running = Promise.all(flows.map(({ id }, at) => all[at]?.run(id)));
    await until(() => calls === 3);
    release();
    const messages = (await running).flatMap((run) => run?.error?.message ?? []);
    assert.match(messages.join(), /would wait for itself/);
  });
});

interface Left {
  readonly worker: string;
  readonly run: string;
}

/** The process that hangs in the second of three steps of a run. */
async function hangIn(url: string, tool: string) {
  const child = killedAtEnd(
    spawn(process.execPath, [...nodeArgs(CHILD), url, tool], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  const [line] = await once(child.stdout, 'data');
  const left: Left = JSON.parse(String(line).split('\n')[0] ?? '');
  const kill = async () => {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return { left, kill };
}

const TOOLS = FULL
  ? ['dies_reading', 'dies_before_commit', 'dies_between_steps', 'dies_waiting']
  : ['dies_before_commit', 'dies_between_steps'];

describe('a run whose process is ended by kill -9', { skip: withoutPostgres }, () => {
  for (const tool of TOOLS) {
    it(`goes on in another one, once, after ${tool}`, async () => {
      const { url } = await testDatabase();
      const { left, kill } = await hangIn(url, tool);
      const [one] = await openOn(url, 2);
      await kill();
      if (!FULL) await forget(url, left.worker);
      await until(() => idle(one));
      const run = await one.store.flowRuns.read(left.run);
      const skills = pluck((await one.must('list_skills', { limit: 100 })).data, 'name');
      const known = tool !== 'dies_between_steps';
      assert.equal(run.status, known ? 'succeeded' : 'failed');
      if (!known) assert.match(run.error?.message ?? '', /^Step middle: .*whether it took effect is not known/);
      const names = tool === 'dies_reading' ? ['first', 'third'] : ['first', 'second', ...(known ? ['third'] : [])];
      assert.deepEqual(skills.sort(), names);
      assert.notEqual(run.worker, left.worker);
    });
  }
});

/** Lets the time pass after which a process that is not heard counts as gone. */
async function forget(url: string, worker: string): Promise<void> {
  const database = new Database({ url });
  const text = `update cluster_processes set seen_at = seen_at - interval '10 seconds' where id = $1`;
  await database.query({ text, values: [worker] });
  await database.close();
}
