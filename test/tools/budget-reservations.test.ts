import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { StoreUnavailable } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { BudgetBook } from '../../tools/usage/budget-book.ts';
import { startBudgets } from '../../tools/usage/budget-meter.ts';
import { startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf, testFacts } from '../support/registry.ts';
import { onPostgres, openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

const admin = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });
const MODEL = 'custom/tiny';
const TOKENS_OF_TURN = 15;
let time = '2026-03-10T12:00:00Z';
const now = () => new Date(time);

/** Calls of processes that were killed. */
const hanging: Promise<string>[] = [];
const provider = await startModelServer();
const world = await openTestRegistry(now);
await world.call(admin, 'create_agent', { name: 'ada', displayName: 'Ada' });
await world.call(admin, 'update_settings', {
  prices: [{ model: MODEL, from: '2026-01-01', currency: 'USD', input: 1, output: 2 }],
});
after(async () => {
  await provider.close();
  await Promise.all(hanging);
  await world.close();
});

/** How the store answers the next transactions of a process: as it does, not at all after it has committed, or without a commit. */
type Answered = 'as it is' | 'answer lost' | 'refused';

interface Process {
  /** The code of the answer of the agent. */
  ask(as: Principal): Promise<string>;
  /** The last one holds from then on. */
  answers(...next: Answered[]): void;
  /** Ends as by `kill -9`: what it holds in memory is gone. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** A process of its own, as far as the store can tell: on the embedded store, only one can be there at a time. */
async function startProcess(open?: Store): Promise<Process> {
  const store = open ?? (onPostgres ? await openStoreIn(world.folder, { now }) : world.store);
  let next: readonly Answered[] = ['as it is'];
  const transaction: Store['transaction'] = async (work, origin) => {
    const [answered = 'as it is', ...rest] = next;
    if (rest.length > 0) next = rest;
    if (answered === 'refused') throw new StoreUnavailable('the connection was lost');
    const result = await store.transaction(work, origin);
    if (answered === 'answer lost') throw new StoreUnavailable('the connection was lost');
    return result;
  };
  const onCommit = store.onCommit.bind(store);
  const { budgets: records, settings, modelProviders, agentRuns, jobs } = store;
  const own = {
    transaction,
    onCommit,
    budgets: records,
    settings,
    modelProviders,
    agentRuns,
    jobs,
  } as unknown as Store; // what the meter uses of it
  const budgets = await startBudgets({ store: own, now, onFailure: () => {} });
  const models = createModels({ providers: [{ kind: 'custom', baseUrl: provider.baseUrl, models: ['tiny'] }] });
  const server = testFacts(store, { now, catalog, budgets, models });
  const registry = createRegistry({ store, server, onFailure: () => {} });
  return {
    async ask(principal) {
      const input = { agent: 'ada', input: 'x', model: MODEL };
      const call = { principal, tool: 'invoke_agent', input, door: 'mcp' as const, requestId: 'test' };
      const answer = await registry.call(call);
      return answer.ok ? 'ok' : answer.error.code;
    },
    answers(...given) {
      next = given;
    },
    async kill() {
      next = ['refused'];
      if (store !== world.store) await store.close();
    },
    async close() {
      await budgets.close();
      if (store !== world.store) await store.close();
    },
  };
}

/** A key with a budget that has room for one turn at a time. */
async function limited(measure = 'tokens') {
  const made = async (tool: string, input: object) => {
    const answer = await world.call(admin, tool, input);
    return 'output' in answer ? String(answer.output.id) : assert.fail(JSON.stringify(answer));
  };
  const id = await made('create_api_key', { name: 'limited', scopes: ['admin'] });
  const limit = measure === 'cost' ? 0.0001 : 100;
  const budgetId = await made('create_budget', { subject: { type: 'key', id }, measure, period: 'day', limit });
  const record = async () => (await world.store.budgets.get(budgetId)) ?? assert.fail(`${budgetId} is gone`);
  return { robot: principalOf({ type: 'api-key', id, scopes: ['admin'] }), budgetId, record };
}

/** Tokens of all turns that the runs of the key tell of. */
async function recount({ id }: Principal): Promise<number> {
  const { records } = await world.store.agentRuns.find({ limit: 1000 });
  const turns = records.filter(({ principal }) => principal.id === id).flatMap((run) => run.turns ?? []);
  return turns.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0);
}

describe('what a turn of a model reserved', () => {
  it('and does not name its process, as in older versions, is kept only where such a process may run beside this one', async () => {
    const { robot, budgetId, record } = await limited();
    const died = await startProcess();
    died.answers('as it is', 'refused');
    await died.ask(robot);
    await died.kill();
    await world.store.transaction(async ({ budgets }) => {
      const { reservations } = await budgets.read(budgetId);
      await budgets.touch(budgetId, { reservations: reservations.map(({ worker: _, ...older }) => older) });
    });
    const process = await startProcess();
    assert.deepEqual(
      [(await record()).used, (await record()).reservations.length],
      onPostgres ? [0, 1] : [TOKENS_OF_TURN, 0],
    );
    await process.close();
  });

  it('is free at once where the answer to its COMMIT is lost', async () => {
    const { robot, record } = await limited();
    const process = await startProcess();
    const asked = provider.requests.length;
    process.answers('answer lost', 'as it is');
    assert.equal(await process.ask(robot), 'unavailable');
    assert.equal(provider.requests.length, asked);
    await until(async () => (await record()).reservations.length === 0);
    assert.equal(await process.ask(robot), 'ok');
    assert.deepEqual([(await record()).used, (await record()).reservations], [TOKENS_OF_TURN, []]);
    assert.equal(await recount(robot), TOKENS_OF_TURN);
    await process.close();
  });

  for (const [measure, used] of [
    ['tokens', TOKENS_OF_TURN],
    ['cost', 20],
  ] as const) {
    for (const [minutes, counted] of [
      [0, used],
      [16, used],
      [24 * 60, 0],
    ] as const) {
      const what = counted === 0 ? 'is no matter of the next period' : 'is counted by another one';
      it(`and its process could not count before it was gone (${measure}), ${what} after ${minutes} minutes`, async () => {
        const before = time;
        const { robot, record } = await limited(measure);
        const died = await startProcess();
        died.answers('as it is', 'refused');
        assert.equal(await died.ask(robot), 'ok');
        await died.kill();
        assert.deepEqual([(await record()).used, (await record()).reservations.length], [0, 1]);
        time = new Date(Date.parse(time) + minutes * 60_000).toISOString();
        const [first, second] = onPostgres
          ? await Promise.all([startProcess(), startProcess()])
          : [await startProcess()];
        if (counted > 0) assert.deepEqual([(await record()).used, (await record()).reservations], [counted, []]);
        assert.equal(await recount(robot), TOKENS_OF_TURN);
        assert.equal(await first.ask(robot), 'ok');
        assert.deepEqual([(await record()).used, (await record()).reservations], [counted + used, []]);
        for (const process of [first, second]) await process?.close();
        time = before;
      });
    }
  }

  it('is free for others when its process is gone in the middle of the turn', async () => {
    const { robot, record } = await limited();
    const died = await startProcess();
    provider.play(() => 'hang');
    const asked = provider.requests.length;
    hanging.push(died.ask(robot).catch(() => 'gone'));
    await until(() => provider.requests.length > asked);
    provider.play(() => ({ text: 'Hello.' }));
    if (onPostgres) {
      const beside = await startProcess(world.store); // which leads
      assert.equal(await beside.ask(robot), 'rate_limited', 'a process that runs keeps what it reserved');
      await died.kill();
      await until(async () => (await record()).reservations[0]?.amount === 0);
      assert.equal(await beside.ask(robot), 'ok');
      await beside.close();
    } else {
      await died.kill();
      const again = await startProcess();
      assert.equal(await again.ask(robot), 'ok');
      await again.close();
    }
    assert.equal((await record()).used, TOKENS_OF_TURN);
  });

  it('and seemed to be left is counted, once, where its process goes on after all', async () => {
    const { budgetId, record } = await limited();
    const book = new BudgetBook(world.store, now);
    const lapses = new Date(Date.parse(time) + 60_000).toISOString();
    const turn = (amount: number) => ({ id: 'turn', until: lapses, parts: [{ budgetId, amount }] });
    await book.enter({ kind: 'reserve', ...turn(100) });
    const other = { kind: 'reserve', ...turn(1), id: 'other' } as const;
    assert.equal((await book.enter(other))?.budgetId, budgetId);
    await book.enter({ kind: 'left', isUsed: false, ...turn(0) });
    assert.equal(await book.enter(other), undefined);
    for (let again = 0; again < 2; again += 1) await book.enter({ kind: 'settle', ...turn(15) });
    assert.equal((await record()).used, 15);
    for (const isUsed of [true, false]) await book.enter({ kind: 'left', isUsed, ...turn(15) });
    assert.equal((await record()).used, 15);
    // The other way round: what another process counted by the run, the process itself does not count again.
    for (const kind of ['left', 'settle'] as const) await book.enter({ kind, isUsed: true, ...turn(7), id: 'other' });
    assert.deepEqual([(await record()).used, (await record()).reservations], [22, []]);
  });
});
