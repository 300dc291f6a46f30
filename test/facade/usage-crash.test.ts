import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { startBudgets } from '../../tools/usage/budget-meter.ts';
import { type HourOfUsage, usageIn } from '../../tools/usage/figures.ts';
import { callTool, mustCall } from '../support/calls.ts';
import { type ServerProcess, startProcess, withFolder } from '../support/child.ts';
import { rounds } from '../support/full.ts';
import { type ModelRequest, type ModelServer, startModelServer } from '../support/model-server.ts';
import { principalOf, testFacts } from '../support/registry.ts';
import { onPostgres, openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

const admin = `ak_usagecra_${'k'.repeat(40)}`;
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? rounds(2, 6));
const seed = Number(process.env.CRASH_SEED ?? Date.now() % 100_000);
const HOUR_MS = 3_600_000;
const MODEL = 'custom/tiny';
/** Hours of each round that are rolled up when its server starts, and calls in each. */
const HOURS = onPostgres ? 100 : 500;
const CALLS_AN_HOUR = 2;
/** When the calls of the first round begin: the same for all, also where an hour ends meanwhile. */
const BEGIN = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - (ROUNDS + 1) * HOURS * HOUR_MS;
const CALLERS = 6;
const TOKENS_OF_TURN = 15;

it(`kill -9 of a server that counts usage counts what was done, once, and keeps budgets as they were (${ROUNDS} rounds, seed ${seed})`, async () => {
  const provider = await startModelServer();
  provider.play((request) => (asksToHang(request) ? 'hang' : { text: 'Done.' }));
  await withFolder(async (folder) => {
    const world = { folder, provider };
    for (let round = 0; round < ROUNDS; round += 1) await crash(world, round);
  });
  await provider.close();
});

interface World {
  readonly folder: string;
  readonly provider: ModelServer;
}

interface Robot {
  readonly id: string;
  readonly secret: string;
  readonly budgetId: string;
}

async function crash({ folder, provider }: World, round: number): Promise<void> {
  const before = provider.requests.length;
  await seedHours(folder, round);
  const env = { BOOTSTRAP_API_KEY: admin, MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny', LOG_LEVEL: 'silent' };
  const server = await startProcess(folder, env);
  if (round === 0) await mustCall(server, admin, 'create_agent', { name: 'ada', displayName: 'Ada' });
  const robots = {
    caller: await makeRobot(server, 'calls', 100_000),
    spent: await makeRobot(server, 'calls', 5),
    asker: await makeRobot(server, 'tokens', 1_000_000),
    waiting: await makeRobot(server, 'tokens', 100),
  };
  for (let call = 0; call < 5; call += 1) await mustCall(server, robots.spent.secret, 'list_skills');
  assert.equal(await codeOf(server, robots.spent, 'list_skills'), 'rate_limited');

  const runs = new Work(server, robots.asker, 'invoke_agent', () => ({ agent: 'ada', input: 'work' }));
  const calls = new Work(server, robots.caller, 'create_skill', (n) => ({
    name: `s ${round} ${n}`,
    instructions: 'x',
  }));
  const hanging = new Work(server, robots.waiting, 'invoke_agent', () => ({ agent: 'ada', input: 'hang' }), 1);
  await until(() => calls.answered > 0 && runs.answered > 0 && provider.requests.slice(before).some(asksToHang));
  await delay((seed * 7919 + round * 104_729) % 400);
  await server.stop('SIGKILL');
  for (const work of [calls, runs, hanging]) await work.over;

  const died = await openStoreIn(folder);
  await assertKeptHours(died);
  const kept = await died.usageHours.count({ where: { source: 'calls' } });
  console.log(`killed when ${kept} hours were kept, after ${calls.answered} calls`);
  await died.close();

  const again = await startProcess(folder, env);
  assert.equal(await codeOf(again, robots.spent, 'list_skills'), 'rate_limited', 'a budget that was used up');
  const budgets = await budgetsOf(again);
  const budget = (robot: Robot) => budgets.get(robot.budgetId) ?? assert.fail(`${robot.budgetId} is gone`);
  assert.deepEqual([budget(robots.spent).used, budget(robots.spent).state], [5, 'reached']);
  assertBetween(budget(robots.caller).used, [calls.answered, calls.asked], 'calls');
  assertBetween(budget(robots.asker).used, [runs.answered * TOKENS_OF_TURN, runs.asked * TOKENS_OF_TURN], 'tokens');
  assert.equal(budget(robots.waiting).used, 0);
  const byKey = await usageBy(again, 'key');
  const byModel = await usageBy(again, 'model');
  await again.stop('SIGTERM');

  const store = await openStoreIn(folder);
  const truth = await recount(store);
  for (const [id, figures] of truth.keys) assert.deepEqual(byKey.get(id), figures, `usage of ${id}`);
  assert.deepEqual(byModel.get(MODEL), truth.model);
  const ofCaller = truth.keys.get(robots.caller.id)?.calls ?? 0;
  assertBetween(ofCaller, [calls.answered, budget(robots.caller).used], 'audit entries');
  const tokens = truth.keys.get(robots.asker.id)?.tokens ?? 0;
  assertBetween(tokens, [runs.answered * TOKENS_OF_TURN, budget(robots.asker).used], 'tokens of runs');
  await assertKeptHours(store);
  await assertFree(store, robots.waiting, provider);
  await store.close();
}

/** Later than any call, also of a clock that was set on. */
const end = () => Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + 24 * HOUR_MS;
const asksToHang = ({ messages }: ModelRequest) => messages.at(-1)?.content === 'hang';

/** Calls in hours that are over, later ones in each round. */
async function seedHours(folder: string, round: number): Promise<void> {
  const store = await openStoreIn(folder);
  for (let hour = 0; hour < HOURS; hour += 1) {
    const from = BEGIN + (round * HOURS + hour) * HOUR_MS;
    for (let call = 0; call < CALLS_AN_HOUR; call += 1) store.audit.append(oldCall(from + call * 60_000, round));
  }
  await store.audit.flush();
  await store.close();
}

let entries = 0;
function oldCall(at: number, round: number): AuditEntry {
  entries += 1;
  return {
    ...{
      id: `aud_${String(entries).padStart(26, '0')}`,
      at: new Date(at).toISOString(),
      requestId: 'old',
      door: 'mcp',
    },
    principal: { type: 'api-key', id: `key_old${round}`, name: 'old' },
    ...{ tool: 'get_skill', arguments: {}, outcome: 'ok', durationMs: 1 },
  };
}

async function makeRobot(server: ServerProcess, measure: string, limit: number): Promise<Robot> {
  const { id, secret } = await mustCall(server, admin, 'create_api_key', { name: 'robot', scopes: ['admin'] });
  const subject = { type: 'key', id };
  const budget = await mustCall(server, admin, 'create_budget', { subject, measure, period: 'month', limit });
  return { id, secret, budgetId: budget.id };
}

async function codeOf(server: ServerProcess, { secret }: Robot, tool: string, input = {}): Promise<string> {
  const answer = await callTool(server, secret, tool, input);
  return 'error' in answer ? answer.error.code : 'ok';
}

class Work {
  asked = 0;
  answered = 0;
  readonly over: Promise<unknown>;

  constructor(server: ServerProcess, { secret }: Robot, tool: string, input: (n: number) => object, callers = CALLERS) {
    const caller = async () => {
      for (;;) {
        this.asked += 1;
        const answer = await callTool(server, secret, tool, input(this.asked)).catch(() => undefined);
        if (!answer) return;
        assert.ok('output' in answer, JSON.stringify(answer));
        this.answered += 1;
      }
    };
    this.over = Promise.all(Array.from({ length: callers }, caller));
  }
}

async function budgetsOf(server: ServerProcess) {
  const { data } = await mustCall(server, admin, 'list_budgets', { limit: 100 });
  return new Map(data.map((budget: { id: string }) => [budget.id, budget])) as Map<
    string,
    { used: number; state: string }
  >;
}

interface Counted {
  calls: number;
  tokens: number;
}

async function usageBy(server: ServerProcess, by: string): Promise<Map<string, Counted>> {
  const input = { by, from: new Date(BEGIN).toISOString(), to: new Date(end()).toISOString(), limit: 100 };
  const { rows } = await mustCall(server, admin, 'get_usage', input);
  return new Map(
    rows.map(({ key, calls, inputTokens, outputTokens }: Record<string, number>) => [
      key,
      { calls, tokens: Number(inputTokens) + Number(outputTokens) },
    ]),
  );
}

/** What the audit log and the runs say of all keys but the admin's, which goes on calling, and of the model. */
async function recount(store: Store) {
  const keys = new Map<string, Counted>();
  const model = { calls: 0, tokens: 0 };
  const at = (id: string) => keys.get(id) ?? keys.set(id, { calls: 0, tokens: 0 }).get(id) ?? assert.fail();
  const { records: log } = await store.audit.find({ limit: 1_000_000 });
  assert.equal(new Set(log.map(({ id }) => id)).size, log.length, 'an audit entry is there twice');
  for (const { principal } of log) if (principal.name !== 'bootstrap') at(principal.id).calls += 1;
  const { records: runs } = await store.agentRuns.find({ limit: 1_000_000 });
  for (const { principal, turns = [] } of runs) {
    for (const { usage } of turns) {
      at(principal.id).tokens += usage.inputTokens + usage.outputTokens;
      model.tokens += usage.inputTokens + usage.outputTokens;
      model.calls += 1;
    }
  }
  return { keys, model };
}

/** Kept hours say the same as the log and the runs, wherever the crash cut their keeping. */
async function assertKeptHours(store: Store): Promise<void> {
  const figures = { audit: store.audit, agentRuns: store.agentRuns, usageHours: store.usageHours };
  const span = { from: BEGIN, to: end() };
  const [kept, counted] = [await tally(usageIn(figures, span, {}, 0)), await tally(usageIn(figures, span))];
  const all = Object.keys({ ...kept, ...counted });
  assert.ok(all.length >= HOURS);
  const differing = all.filter((key) => `${kept[key]}` !== `${counted[key]}`);
  assert.deepEqual(differing, []);
}

async function tally(hours: AsyncIterable<HourOfUsage>): Promise<Record<string, number[]>> {
  const all: Record<string, number[]> = {};
  for await (const { source, hour, cells } of hours) {
    for (const { labels, calls, errors, tokens } of cells.all) {
      const key = `${source} ${hour} ${JSON.stringify(Object.entries(labels).sort())}`;
      const [before = [0, 0, 0]] = [all[key]];
      all[key] = [calls, errors, tokens.inputTokens + tokens.outputTokens].map((each, at) => each + (before[at] ?? 0));
    }
  }
  return all;
}

/** What the dead process reserved is free as soon as others know that it is gone. */
async function assertFree(store: Store, { id }: Robot, { baseUrl }: ModelServer): Promise<void> {
  const principal = principalOf({ type: 'api-key', id, scopes: ['admin'] });
  const now = () => new Date();
  const budgets = await startBudgets({ store, now, onFailure: (cause) => assert.fail(String(cause)) });
  const models = createModels({ providers: [{ kind: 'custom', baseUrl, models: ['tiny'] }] });
  const server = testFacts(store, { now, catalog, budgets, models });
  const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
  const input = { agent: 'ada', input: 'work', model: MODEL };
  const call = { principal, tool: 'invoke_agent', input, door: 'mcp' as const, requestId: 'test' };
  await until(async () => (await registry.call(call)).ok);
  await budgets.close();
}

function assertBetween(value: number, [least, most]: readonly [number, number], what: string): void {
  assert.ok(least <= value && value <= most, `${what}: ${value} is not from ${least} to ${most}`);
}
