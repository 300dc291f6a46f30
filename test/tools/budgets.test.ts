import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RecordChange } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { findToken, tokenPrincipal } from '../../tools/core/access/capsule-principal.ts';
import { findKey, keyPrincipal, keyReference } from '../../tools/core/access/key-principal.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { eventOf, eventTypesOf } from '../../tools/flows/event-types.ts';
import { kinds } from '../../tools/kinds.ts';
import { startBudgets } from '../../tools/usage/budget-meter.ts';
import { outcomeOf } from '../support/calls.ts';
import { loseAnswer, loseTransaction } from '../support/lost-answer.ts';
import { startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf, type TestRegistry, testFacts, toolAnswer } from '../support/registry.ts';
import { onPostgres, openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

const admin = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });
const MODEL = 'custom/tiny';
let time = '2026-03-10T12:00:00Z';
const now = () => new Date(time);

const provider = await startModelServer();
const world = await openTestRegistry(now);
const owner = { id: 'usr_owner', email: 'owner@example.com', role: 'owner', isActive: true } as const;
await writing(world.store).adminUsers.insert(owner);
const limited = await caller();
await ask('create_agent', { name: 'ada', displayName: 'Ada' });

type Answered = Awaited<ReturnType<TestRegistry['call']>>;
interface Caller {
  /** `once`: an idempotency key. */
  call(
    principal: Principal,
    tool: string,
    input?: object,
    once?: string,
  ): Promise<Answered & { readonly after?: number | undefined }>;
  close(): Promise<void>;
}

/** A process: a registry with budgets, on the store that all share. */
async function caller(store = world.store): Promise<Caller> {
  const budgets = await startBudgets({ store, now, onFailure: () => {} });
  const models = createModels({ providers: [{ kind: 'custom', baseUrl: provider.baseUrl, models: ['tiny'] }] });
  const server = testFacts(store, { now, catalog, budgets, models });
  const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
  return {
    async call(principal, tool, input = {}, once) {
      const idempotency = once === undefined ? undefined : { key: once, operation: tool };
      const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'test', idempotency });
      return { ...toolAnswer(answer), after: answer.ok ? undefined : answer.retryAfterSeconds };
    },
    close: () => budgets.close(),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
async function ask(tool: string, input: object = {}, as: Principal = admin): Promise<any> {
  const answer = await limited.call(as, tool, input);
  return 'output' in answer ? answer.output : assert.fail(`${tool}: ${JSON.stringify(answer.error)}`);
}

/** A key of its own, as the door makes it a principal. */
async function key(): Promise<Principal> {
  const { id } = await ask('create_api_key', { name: 'limited', scopes: ['admin'] });
  return principalOf({ type: 'api-key', id, scopes: ['admin'] });
}

/** The principal of a secret, as the door makes it. */
async function holder(secret: string): Promise<Principal> {
  const shown = await findKey(world.store, secret);
  return (shown && (await keyPrincipal(world.store, shown, now()))) ?? assert.fail('the key is not accepted');
}

async function capsuleOf(token: string): Promise<Principal> {
  const shown = await findToken(world.store, token);
  const found = shown && (await tokenPrincipal(world.store, shown, { catalog, now: now() }));
  return found ?? assert.fail('the token is not accepted');
}

const budgetOf = async (type: string, id: string) => (await ask('list_budgets', { subject: { type, id } })).data[0];

describe('a budget of calls that is used up', () => {
  it('lets calls through again as soon as it is raised', async () => {
    const robot = await key();
    const { id } = await ask('create_budget', {
      ...{ subject: { type: 'key', id: robot.id }, measure: 'calls', period: 'day', limit: 1 },
    });
    const codes = async () => [
      outcomeOf(await limited.call(robot, 'list_skills')),
      outcomeOf(await limited.call(robot, 'list_skills')),
    ];
    assert.deepEqual(await codes(), ['ok', 'rate_limited']);
    await ask('update_budget', { id, limit: 2 });
    assert.deepEqual(await codes(), ['ok', 'rate_limited']);
    await ask('update_budget', { id, enabled: false });
    assert.deepEqual(await codes(), ['ok', 'ok']);
    await ask('update_budget', { id, enabled: true });
    assert.deepEqual(await codes(), ['rate_limited', 'rate_limited']);
    await ask('delete_budget', { id });
    assert.deepEqual(await codes(), ['ok', 'ok']);
  });

  it('says at each refused call how long it is from then until it renews', async () => {
    const before = time;
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    await ask('create_budget', { subject, measure: 'calls', period: 'day', limit: 1 });
    assert.equal(outcomeOf(await limited.call(robot, 'list_skills')), 'ok');
    for (const [at, seconds] of [
      ['2026-03-10T12:00:00Z', 12 * 3600],
      ['2026-03-10T18:00:00Z', 6 * 3600],
      ['2026-03-10T23:59:59.900Z', 1],
    ] as const) {
      time = at;
      const refused = await limited.call(robot, 'list_skills');
      assert.deepEqual([outcomeOf(refused), refused.after], ['rate_limited', seconds]);
      assert.match(
        'error' in refused ? refused.error.error : '',
        /1 call a day, is used up. It renews at 2026-03-11T00/,
      );
    }
    time = '2026-03-11T00:00:00Z';
    assert.equal(outcomeOf(await limited.call(robot, 'list_skills')), 'ok');
    time = before;
  });
});

describe('a budget', () => {
  it('of calls lets through exactly its limit of 64 callers at once in two processes, and says when it renews', async () => {
    time = '2026-03-10T12:00:00Z';
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    await ask('create_budget', { subject, measure: 'calls', period: 'day', limit: 40 });
    const second = onPostgres ? await openStoreIn(world.folder, { now }) : world.store;
    const other = await caller(second);
    const both = [limited, other];
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, at) => (both[at % 2] ?? other).call(robot, 'list_skills')),
    );
    const refused = answers.filter((answer) => outcomeOf(answer) === 'rate_limited');
    assert.deepEqual([answers.length - refused.length, refused.length], [40, 24]);
    const [one] = refused;
    assert.equal(one?.after, 12 * 3600);
    assert.match(one && 'error' in one ? one.error.error : '', /40 calls a day, is used up.*2026-03-11T00:00:00.000Z/);
    assert.deepEqual(pick(await budgetOf('key', robot.id)), [40, 'reached', '2026-03-11T00:00:00.000Z']);

    time = '2026-03-11T00:00:00Z';
    assert.deepEqual(pick(await budgetOf('key', robot.id)), [0, 'ok', '2026-03-12T00:00:00.000Z']);
    assert.equal(outcomeOf(await limited.call(robot, 'list_skills')), 'ok');
    assert.equal(outcomeOf(await other.call(robot, 'list_skills')), 'ok');
    assert.deepEqual(pick(await budgetOf('key', robot.id)), [2, 'ok', '2026-03-12T00:00:00.000Z']);
    await other.close();
    if (second !== world.store) await second.close();
  });

  it('counts what was run, also by an agent that acts for the key, and survives a restart', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    await ask('create_budget', { subject, measure: 'calls', period: 'month', limit: 3 });
    const agent: Principal = { ...principalOf({ type: 'agent', id: 'agt_x', scopes: ['read'] }), actsFor: robot };
    assert.equal(outcomeOf(await limited.call(agent, 'list_skills')), 'ok');
    assert.equal(outcomeOf(await limited.call(robot, 'list_skills', { wrong: 1 })), 'invalid_input');
    assert.equal(outcomeOf(await limited.call(robot, 'get_skill', { id: 'skl_none' })), 'not_found');
    const restarted = await caller();
    assert.equal(outcomeOf(await restarted.call(robot, 'list_skills')), 'ok');
    assert.equal(outcomeOf(await restarted.call(agent, 'list_skills')), 'rate_limited');
    await restarted.close();
    assert.deepEqual(pick(await budgetOf('key', robot.id)), [3, 'reached', '2026-04-01T00:00:00.000Z']);
  });

  it('of tokens is passed by no more than the turns under way, and frees what they did not use', async () => {
    const subject = { type: 'agent', id: 'ada' };
    await ask('create_budget', { subject, measure: 'tokens', period: 'day', limit: 100 });
    const run = () => limited.call(admin, 'invoke_agent', { agent: 'ada', input: 'x', model: MODEL });
    const answers = await Promise.all(Array.from({ length: 64 }, run));
    const passed = answers.filter((answer) => outcomeOf(answer) === 'ok').length;
    assert.equal(passed + answers.filter((answer) => outcomeOf(answer) === 'rate_limited').length, 64);
    assert.ok(passed >= 1);
    const used = (await budgetOf('agent', 'ada')).used;
    assert.equal(used, 15 * passed);
    const soon = answers.find((answer) => answer.after !== undefined && answer.after < 60);
    assert.match(soon && 'error' in soon ? soon.error.error : '', /reserved by calls under way; try again/);
    let last = await run();
    for (let more = 0; outcomeOf(last) === 'ok' && more < 10; more += 1) last = await run();
    assert.equal(outcomeOf(last), 'rate_limited');
    assert.equal((await budgetOf('agent', 'ada')).used, 105);
    await ask('delete_budget', { id: (await budgetOf('agent', 'ada')).id });
    assert.equal(outcomeOf(await run()), 'ok');
  });

  it('of tokens ends a run in its middle, which keeps what it did and goes on once it is raised', async () => {
    const agent = await ask('create_agent', { name: 'two', displayName: 'Two', tools: ['list_skills'] });
    const subject = { type: 'agent', id: agent.id };
    const { id } = await ask('create_budget', { subject, measure: 'tokens', period: 'day', limit: 15 });
    provider.play(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'Done.' }
        : { calls: [{ name: 'list_skills', arguments: {} }] },
    );
    const answer = await limited.call(admin, 'send_chat_message', { agentId: 'two', message: 'Look', model: MODEL });
    assert.equal(outcomeOf(answer), 'rate_limited');
    const { runId, threadId } = 'error' in answer ? answer.error : assert.fail();
    const run = await ask('get_agent_run', { id: runId });
    assert.deepEqual(
      [run.status, run.error.code, run.turns.length, run.calls.map(({ tool }: { tool: string }) => tool)],
      ['failed', 'rate_limited', 1, ['list_skills']],
    );
    assert.equal((await budgetOf('agent', agent.id)).used, 15);
    await ask('update_budget', { id, limit: 1000 });
    const asked = provider.requests.length;
    const { message } = await ask('send_chat_message', { threadId, continue: runId, model: MODEL });
    provider.play(() => ({ text: 'Hello.' }));
    assert.deepEqual([message.content, provider.requests.length], ['Done.', asked + 1]);
  });

  it('of tokens that a summary uses up lets no turn follow, and the summary is kept', async () => {
    const agent = await ask('create_agent', { name: 'long', displayName: 'Long' });
    const say = (message: string, threadId?: string) =>
      limited.call(admin, 'send_chat_message', { agentId: 'long', message, model: MODEL, threadId });
    const first = await say(`Turn 1: ${'word '.repeat(1600)}`);
    const { threadId } = 'output' in first ? (first.output as { threadId: string }) : assert.fail();
    for (let turn = 2; turn <= 12; turn += 1) await say(`Turn ${turn}: ${'word '.repeat(1600)}`, threadId);
    const subject = { type: 'agent', id: agent.id };
    const { id } = await ask('create_budget', { subject, measure: 'tokens', period: 'day', limit: 15 });
    const asked = provider.requests.length;
    assert.equal(outcomeOf(await say('And now?', threadId)), 'rate_limited');
    const { summary, data } = await ask('list_messages', { id: threadId, limit: 1 });
    assert.deepEqual([summary.text, data[0].content, provider.requests.length], ['Hello.', 'And now?', asked + 1]);
    await ask('update_budget', { id, limit: 100_000 });
    assert.equal(outcomeOf(await say('And now?', threadId)), 'ok');
    assert.equal(provider.requests.length, asked + 2);
  });

  it('of cost needs a price, and counts in the currency of the workspace', async () => {
    const subject = { type: 'agent', id: 'ada' };
    const { id } = await ask('create_budget', { subject, measure: 'cost', period: 'month', limit: 0.000_04 });
    const run = () => limited.call(admin, 'invoke_agent', { agent: 'ada', input: 'x', model: MODEL });
    const unknown = await run();
    assert.match('error' in unknown ? unknown.error.error : '', /has no price today/);
    await ask('update_settings', {
      prices: [{ model: MODEL, from: '2026-01-01', currency: 'USD', input: 1, output: 2 }],
    });
    assert.deepEqual([outcomeOf(await run()), (await budgetOf('agent', 'ada')).used], ['ok', 0.000_02]);
    assert.deepEqual([outcomeOf(await run()), (await budgetOf('agent', 'ada')).state], ['ok', 'reached']);
    assert.equal(outcomeOf(await run()), 'rate_limited');
    assert.equal((await ask('update_budget', { id, limit: 1 })).state, 'ok');
    assert.equal(outcomeOf(await run()), 'ok');
    await ask('delete_budget', { id });
  });

  it('of tokens or cost that is used up refuses a message before anything of it is kept', async () => {
    await ask('update_settings', {
      prices: [{ model: MODEL, from: '2026-01-01', currency: 'USD', input: 1, output: 2 }],
    });
    for (const [measure, limit, words] of [
      ['tokens', 15, /of the agent agt_\w+, 15 tokens a day, is used up.* an admin can raise it/],
      ['cost', 0.000_02, /a cost of 0\.00002 USD a day, is used up/],
    ] as const) {
      const agent = await ask('create_agent', { name: `spent-${measure}`, displayName: 'Spent' });
      const subject = { type: 'agent', id: agent.id };
      const { id } = await ask('create_budget', { subject, measure, period: 'day', limit });
      const say = () => limited.call(admin, 'send_chat_message', { agentId: agent.id, message: 'Hi', model: MODEL });
      assert.equal(outcomeOf(await say()), 'ok');
      const counts = async () => [
        await world.store.agentRuns.count({}),
        await world.store.threads.count({}),
        await world.store.messages.count({}),
      ];
      const before = await counts();
      const refused = await say();
      assert.match('error' in refused ? refused.error.error : '', words);
      assert.deepEqual(await counts(), before);
      await ask('update_budget', { id, enabled: false });
      assert.equal(outcomeOf(await say()), 'ok');
    }
  });

  it('of cost in another currency than the workspace counts in refuses, until it has a new limit', async () => {
    const agent = await ask('create_agent', { name: 'abroad', displayName: 'Abroad' });
    const subject = { type: 'agent', id: agent.id };
    const { id } = await ask('create_budget', { subject, measure: 'cost', period: 'day', limit: 1 });
    const run = () => limited.call(admin, 'invoke_agent', { agent: agent.id, input: 'x', model: MODEL });
    const prices = (currency: string) => [{ model: MODEL, from: '2026-01-01', currency, input: 1, output: 2 }];
    await ask('update_settings', { currency: 'EUR', prices: prices('EUR') });
    const refused = await run();
    assert.match(
      'error' in refused ? refused.error.error : '',
      /limits cost in USD, and the workspace now counts in EUR/,
    );
    await ask('update_budget', { id, warnAt: 0.5 });
    assert.equal(outcomeOf(await run()), 'conflict');
    assert.equal((await ask('update_budget', { id, limit: 2 })).currency, 'EUR');
    assert.equal(outcomeOf(await run()), 'ok');
    await ask('update_settings', { currency: 'USD', prices: prices('USD') });
    await ask('delete_budget', { id });
  });

  it('that a turn reserved for and a dead process left is free again after a while', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    const { id } = await ask('create_budget', { subject, measure: 'tokens', period: 'day', limit: 100 });
    const until = new Date(Date.parse(time) + 60_000).toISOString();
    await world.store.transaction((tx) =>
      tx.budgets.touch(id, { reservations: [{ id: 'lost', amount: 5000, until }] }),
    );
    const run = () => limited.call(robot, 'invoke_agent', { agent: 'ada', input: 'x', model: MODEL });
    assert.equal(outcomeOf(await run()), 'rate_limited');
    time = until;
    assert.equal(outcomeOf(await run()), 'ok');
  });

  it('keeps the answer of a turn that cannot be counted at once, and counts it later, once', async () => {
    const isSettled = ({ collection, record }: RecordChange) => collection === 'budgets' && record.notice !== undefined;
    for (const lose of [loseTransaction, loseAnswer]) {
      const robot = await key();
      const subject = { type: 'key', id: robot.id };
      const budget = { subject, measure: 'tokens', period: 'day', limit: 1000, warnAt: 0.01 };
      await ask('create_budget', budget);
      const process = await caller();
      lose(world.store, isSettled);
      const run = () => process.call(robot, 'invoke_agent', { agent: 'ada', input: 'x', model: MODEL });
      assert.equal(outcomeOf(await run()), 'ok');
      await process.close();
      assert.equal((await budgetOf('key', robot.id)).used, 15);
      const { records } = await world.store.budgets.find({ where: { subjectKey: `key ${robot.id}` }, limit: 1 });
      assert.deepEqual(records[0]?.reservations, []);
      await ask('delete_budget', { id: records[0]?.id });
    }
  });

  it('counts by itself what could not be counted, while the server goes on', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    const budget = { subject, measure: 'tokens', period: 'day', limit: 1000, warnAt: 0.01 };
    const { id } = await ask('create_budget', budget);
    const isSettled = ({ collection, record }: RecordChange) => collection === 'budgets' && record.notice !== undefined;
    loseTransaction(world.store, isSettled);
    assert.equal(
      outcomeOf(await limited.call(robot, 'invoke_agent', { agent: 'ada', input: 'x', model: MODEL })),
      'ok',
    );
    await until(async () => (await budgetOf('key', robot.id)).used === 15);
    await ask('delete_budget', { id });
  });

  it('counts a call with an idempotency key once, and repeats get its answer when the budget is used up', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    await ask('create_budget', { subject, measure: 'calls', period: 'day', limit: 3 });
    const create = (name: string, once: string) =>
      limited.call(robot, 'create_skill', { name, instructions: 'x' }, once);
    const used = async () => (await budgetOf('key', robot.id)).used;
    const first = await create('kept', 'one');
    assert.deepEqual([outcomeOf(first), await used()], ['ok', 1]);
    assert.deepEqual(await create('kept', 'one'), first);
    assert.equal(outcomeOf(await create('kept', 'two')), 'conflict');
    assert.equal(outcomeOf(await create('kept', 'two')), 'conflict');
    assert.equal(await used(), 2);
    assert.equal(outcomeOf(await create('third', 'three')), 'ok');
    assert.equal(outcomeOf(await create('fourth', 'four')), 'rate_limited');
    assert.deepEqual(await create('kept', 'one'), first);
    assert.equal(await used(), 3);
    const before = time;
    time = new Date(Date.parse(time) + 24 * 3_600_000).toISOString();
    assert.equal(outcomeOf(await create('fourth', 'four')), 'ok');
    time = before;
  });

  it('happens as an event once when it warns and once when it is used up', async () => {
    const robot = await key();
    const heard: string[] = [];
    const forget = world.store.onCommit(
      ({ changes }) => heard.push(...changes.flatMap((change) => eventOf(change, kinds)?.type ?? [])),
      ['budgets'],
    );
    const alerts = {
      name: 'alerts',
      target: { email: 'ann@example.com' },
      events: [],
      alerts: ['budget.warned', 'budget.reached'],
    };
    const owner = { type: 'session' as const, id: 'usr_ann', name: 'Ann' };
    const { id: webhook } = await writing(world.store).webhooks.insert({ ...alerts, enabled: true, owner });
    await ask('create_budget', { subject: { type: 'key', id: robot.id }, measure: 'calls', period: 'day', limit: 5 });
    for (let call = 0; call < 8; call += 1) await limited.call(robot, 'list_skills');
    const { id } = await budgetOf('key', robot.id);
    const told = await world.store.webhookDeliveries.find({ where: { webhookId: webhook }, limit: 10 });
    assert.deepEqual(told.records.map(({ event }) => [event.type, event.id]).sort(), [
      ['budget.reached', id],
      ['budget.warned', id],
    ]);
    assert.deepEqual(heard.splice(0), ['budget.created', 'budget.warned', 'budget.reached']);
    await ask('update_budget', { id, limit: 10 });
    for (let call = 0; call < 8; call += 1) await limited.call(robot, 'list_skills');
    assert.deepEqual(heard.splice(0), ['budget.updated', 'budget.warned', 'budget.reached'], 'with another limit');
    const before = time;
    time = new Date(Date.parse(time) + 24 * 3_600_000).toISOString();
    for (let call = 0; call < 8; call += 1) await limited.call(robot, 'list_skills');
    assert.deepEqual(heard.splice(0), ['budget.warned'], 'on the next day');
    time = before;
    await ask('update_budget', { id, enabled: false });
    forget();
    assert.deepEqual(heard, ['budget.updated']);
    const types = eventTypesOf(kinds).map(({ type }) => type);
    for (const type of ['budget.warned', 'budget.reached']) assert.ok(types.includes(type), type);
    assert.equal(outcomeOf(await limited.call(robot, 'list_skills')), 'ok');
  });

  it('is in the system health while it warns and while it is used up, and no more when it has renewed', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    await ask('create_budget', { subject, measure: 'calls', period: 'day', limit: 5 });
    const { id } = await budgetOf('key', robot.id);
    const shown = async (as = admin): Promise<string> => {
      const { integrations } = await ask('get_system_health', {}, as);
      const found = integrations.find(({ kind }: { kind: string }) => kind === 'budgets');
      if (found) assert.equal(found.status, 'degraded');
      return found?.lastError ?? '';
    };
    const named = `${id} of the API key ${robot.id}`;
    assert.ok(!(await shown()).includes(named));
    for (let call = 0; call < 4; call += 1) await limited.call(robot, 'list_skills');
    assert.ok((await shown()).includes(`at which they warn: ${named}.`));
    const stranger = principalOf({ type: 'session', id: 'usr_bea', scopes: ['agents:read'] });
    assert.match(await shown(stranger), /at which they warn: some\.$/);
    await limited.call(robot, 'list_skills');
    assert.match(await shown(), new RegExp(`until they renew: .*${named}.*\\.$`));
    assert.doesNotMatch(await shown(), /at which they warn/);
    const before = time;
    time = new Date(Date.parse(time) + 24 * 3_600_000).toISOString();
    assert.ok(!(await shown()).includes(named));
    time = before;
    await ask('delete_budget', { id });
  });

  it('is in the system health among ten others, and it says how many more there are', async () => {
    const made: string[] = [];
    for (let at = 0; at < 12; at += 1) {
      const robot = await key();
      const subject = { type: 'key', id: robot.id };
      made.push((await ask('create_budget', { subject, measure: 'calls', period: 'day', limit: 1 })).id);
      await limited.call(robot, 'list_skills');
    }
    const { integrations } = await ask('get_system_health', {});
    const { lastError } = integrations.find(({ kind }: { kind: string }) => kind === 'budgets');
    const [, used = '', more] = /until they renew: (.*?) and (\d+) more, see list_budgets\./.exec(lastError) ?? [];
    assert.deepEqual([used.split(', ').length, Number(more) >= 2], [10, true], lastError);
    for (const id of made) await ask('delete_budget', { id });
  });

  it('counts what keys and capsules use that a limited key made, and sessions that its links began, and none of them lifts it', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    const { id } = await ask('create_budget', { subject, measure: 'calls', period: 'day', limit: 8 });
    const made = await holder((await ask('create_api_key', { name: 'made', scopes: ['admin'] }, robot)).secret);
    const next = await holder((await ask('create_api_key', { name: 'next', scopes: ['admin'] }, made)).secret);
    const tools = { allowedTools: ['list_skills'], status: 'live' };
    const { token } = await ask('create_capsule', { name: 'made', ...tools }, next);
    const capsule = await capsuleOf(token);
    assert.equal(outcomeOf(await limited.call(capsule, 'list_skills')), 'ok');
    const record = (await world.store.apiKeys.get(next.id)) ?? assert.fail();
    const session: Principal = { ...admin, madeWith: keyReference(record) };
    assert.equal(outcomeOf(await limited.call(session, 'list_skills')), 'ok');
    assert.equal((await budgetOf('key', robot.id)).used, 5);
    for (const principal of [made, next, session]) {
      const answer = await limited.call(principal, 'update_budget', { id, limit: 99 });
      assert.equal(outcomeOf(answer), 'forbidden');
    }
    assert.equal((await budgetOf('key', robot.id)).state, 'reached');
    for (const principal of [robot, made, next, capsule, session]) {
      assert.equal(outcomeOf(await limited.call(principal, 'list_skills')), 'rate_limited');
    }
    const other = await key();
    assert.equal(outcomeOf(await limited.call(other, 'list_skills')), 'ok');
  });

  it('counts what a key uses to which a limited key gave a new secret, and no more what somebody else takes over', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    await ask('create_budget', { subject, measure: 'calls', period: 'day', limit: 50 });
    const free = await ask('create_api_key', { name: 'free', scopes: ['read'] });
    await limited.call(await holder(free.secret), 'list_skills');
    assert.equal((await budgetOf('key', robot.id)).used, 0);
    const { secret, revision } = await ask('rotate_api_key', { id: free.id }, robot);
    await limited.call(await holder(secret), 'list_skills');
    assert.equal((await budgetOf('key', robot.id)).used, 2);
    const taken = await ask('take_over', { type: 'key', id: free.id, expectedRevision: revision });
    await limited.call(await holder(taken.secret), 'list_skills');
    assert.equal((await budgetOf('key', robot.id)).used, 2);
  });

  for (const type of ['key', 'capsule'] as const) {
    it(`counts for the maker of a ${type}, and for whoever gave it a new secret, both`, async () => {
      const [maker, turner] = [await key(), await key()];
      const { maker: of, turner: by } = { maker: maker.id, turner: turner.id };
      for (const id of [of, by]) {
        await ask('create_budget', { subject: { type: 'key', id }, measure: 'calls', period: 'day', limit: 50 });
      }
      const made =
        type === 'key'
          ? await ask('create_api_key', { name: 'made', scopes: ['read'] }, maker)
          : await ask('create_capsule', { name: 'made', allowedTools: ['list_skills'], status: 'live' }, maker);
      const turned = await ask(type === 'key' ? 'rotate_api_key' : 'rotate_capsule_token', { id: made.id }, turner);
      const used = async () => [(await budgetOf('key', of)).used, (await budgetOf('key', by)).used];
      const before = await used();
      const acting = type === 'key' ? await holder(turned.secret) : await capsuleOf(turned.token);
      assert.equal(outcomeOf(await limited.call(acting, 'list_skills')), 'ok');
      assert.deepEqual(
        await used(),
        before.map((count) => count + 1),
      );
    });
  }

  it('counts what a key of an older version uses, of which only the maker is known', async () => {
    const robot = await key();
    await ask('create_budget', { subject: { type: 'key', id: robot.id }, measure: 'calls', period: 'day', limit: 50 });
    const { id, secret } = await ask('create_api_key', { name: 'old', scopes: ['read'] }, robot);
    await writing(world.store).apiKeys.update(id, { budgetSubjects: null });
    await limited.call(await holder(secret), 'list_skills');
    assert.equal((await budgetOf('key', robot.id)).used, 2);
  });

  it('is changed and deleted by nobody whom it limits', async () => {
    const robot = await key();
    const { id } = await ask('create_budget', {
      subject: { type: 'key', id: robot.id },
      measure: 'calls',
      period: 'day',
      limit: 50,
    });
    const app: Principal = { ...principalOf({ type: 'app', id: 'app_x', scopes: ['admin'] }), actsFor: robot };
    for (const principal of [robot, app]) {
      for (const [tool, input] of [
        ['update_budget', { id, limit: 99 }],
        ['delete_budget', { id }],
      ] as const) {
        const answer = await limited.call(principal, tool, input);
        assert.equal(outcomeOf(answer), 'forbidden');
        assert.match('error' in answer ? answer.error.error : '', /somebody it does not limit can change it/);
      }
    }
    assert.equal((await ask('update_budget', { id, limit: 99 })).limit, 99);
  });

  it('is one of at most six of a subject, also where two processes create them at once', async () => {
    const subject = { type: 'agent', id: (await ask('create_agent', { name: 'grace', displayName: 'Grace' })).id };
    const inputs = ['calls', 'tokens', 'cost'].flatMap((measure) =>
      ['day', 'month'].map((period) => ({ subject, measure, period, limit: 5 })),
    );
    const second = onPostgres ? await openStoreIn(world.folder, { now }) : world.store;
    const other = await caller(second);
    const answers = await Promise.all(
      inputs.flatMap((input) => [limited, other, limited].map(({ call }) => call(admin, 'create_budget', input))),
    );
    assert.deepEqual(answers.map(outcomeOf).toSorted(), [...Array(12).fill('conflict'), ...Array(6).fill('ok')]);
    const { total } = await ask('list_budgets', { subject, includeTotal: true });
    assert.equal(total, 6);
    await other.close();
    if (onPostgres) await second.close();
  });

  it('is one for each subject, measure and period, and of something that is there', async () => {
    const robot = await key();
    const subject = { type: 'key', id: robot.id };
    const asked = { subject, measure: 'calls', period: 'day', limit: 5 };
    await ask('create_budget', asked);
    const faults = [
      [asked, /already; change it with update_budget/],
      [{ ...asked, period: 'month', limit: 1.5 }, /whole number; give 2/],
      [{ ...asked, subject: { type: 'agent', id: 'nobody' } }, /There is no agent nobody; list_agents shows them/],
      [{ ...asked, subject: { type: 'capsule' } }, /Give the id; see list_capsules/],
      [{ ...asked, subject: { type: 'workspace', id: robot.id } }, /The workspace has no id; leave it out/],
    ] as const;
    for (const [input, message] of faults) {
      const answer = await limited.call(admin, 'create_budget', input);
      assert.match('error' in answer ? answer.error.error : '', message);
    }
    const list = await limited.call(admin, 'list_budgets', { subject: { type: 'person' } });
    assert.match('error' in list ? list.error.error : '', /Give the id; see list_admin_users/);
    const { id } = await budgetOf('key', robot.id);
    const update = await limited.call(admin, 'update_budget', { id, limit: 2.5 });
    assert.match('error' in update ? update.error.error : '', /A limit of calls is a whole number; give 3/);
  });
});

function pick({ used, state, renewsAt }: { used: number; state: string; renewsAt: string }) {
  return [used, state, renewsAt];
}
