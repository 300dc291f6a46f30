import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { findToken, tokenPrincipal } from '../../tools/core/access/capsule-principal.ts';
import { findKey, keyPrincipal } from '../../tools/core/access/key-principal.ts';
import { anonymous, type Principal, personPrincipal } from '../../tools/core/access/principal.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { findRunAs, runAsOf } from '../../tools/flows/run-as.ts';
import { startBudgets } from '../../tools/usage/budget-meter.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { outcomeOf } from '../support/calls.ts';
import { startModelServer } from '../support/model-server.ts';
import { openTestRegistry, testFacts, toolAnswer } from '../support/registry.ts';
import { onPostgres, openStoreIn } from '../support/store.ts';
import { writing } from '../support/writing.ts';

const now = () => new Date('2026-03-10T12:00:00Z');
const MODEL = 'custom/tiny';
const provider = await startModelServer();
const world = await openTestRegistry(now);
const second = onPostgres ? await openStoreIn(world.folder, { now }) : world.store;
if (second !== world.store) closedAtEnd(() => second.close());
const one = await startProcess(world.store);
closedAtEnd(() => one.close());

async function startProcess(store: typeof world.store) {
  const budgets = await startBudgets({ store, now, onFailure: assert.fail });
  const models = createModels({ providers: [{ kind: 'custom', baseUrl: provider.baseUrl, models: ['tiny'] }] });
  const server = testFacts(store, { now, catalog, budgets, models });
  const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
  return {
    call: async (principal: Principal, tool: string, input: object = {}, door: 'mcp' | 'dashboard' = 'mcp') =>
      toolAnswer(await registry.call({ principal, tool, input, door, requestId: 'test' })),
    close: () => budgets.close(),
  };
}

let made = 0;
async function person(access?: { scopes: string[]; grants?: string[] }): Promise<Principal> {
  made += 1;
  const fields = {
    email: `person-${made}@example.com`,
    role: 'admin',
    isActive: true,
    ...(access && { access }),
  } as const;
  return personPrincipal(await writing(world.store).adminUsers.insert(fields as never));
}

const boss = await person();

// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
async function ask(as: Principal, tool: string, input: object = {}): Promise<any> {
  const answer = await one.call(as, tool, input);
  return 'output' in answer ? answer.output : assert.fail(`${tool}: ${JSON.stringify(answer.error)}`);
}

const limit = (subject: object, measure: string, most: number) =>
  ask(boss, 'create_budget', { subject, measure, period: 'day', limit: most });
const used = async (subject: object) => (await ask(boss, 'list_budgets', { subject })).data[0].used;

async function keyOf(as: Principal): Promise<Principal> {
  const { secret } = await ask(as, 'create_api_key', { name: 'k', scopes: ['admin'] });
  const found = await findKey(world.store, secret);
  return (found && (await keyPrincipal(world.store, found, now()))) ?? assert.fail('the key is not accepted');
}

async function capsuleOf(as: Principal): Promise<Principal> {
  const { token } = await ask(as, 'create_capsule', { name: `c${made}`, allowedTools: ['*'] });
  const found = await findToken(world.store, token);
  const holder = found && (await tokenPrincipal(world.store, found, { catalog, now: now() }));
  return holder ?? assert.fail('the token is not accepted');
}

describe('a budget of a person', () => {
  it('counts what acts for them: keys, capsules, agents and flows, in all processes, and stops exactly there', async () => {
    const ann = await person();
    const [key, capsule] = [await keyOf(ann), await capsuleOf(ann)];
    const runAs = await findRunAs(runAsOf(ann), world.store, { catalog, now: now() });
    const flow: Principal = { ...ann, type: 'flow', id: 'flw_x', actsFor: runAs as Principal };
    const agent: Principal = { ...ann, type: 'agent', id: 'agt_x', actsFor: key };
    const subject = { type: 'person', id: ann.id };
    const { id, subject: shown } = await limit(subject, 'calls', 20);
    assert.deepEqual(shown, { ...subject, name: ann.name });
    const other = await startProcess(second);
    const callers = [ann, key, capsule, flow, agent];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        (at % 2 ? one : other).call(callers[at % 5] ?? ann, 'list_skills').then(outcomeOf),
      ),
    );
    assert.equal(answers.filter((outcome) => outcome === 'ok').length, 20);
    assert.equal(answers.filter((outcome) => outcome === 'rate_limited').length, 20);
    assert.equal(await used(subject), 20);
    await other.close();
    assert.equal(outcomeOf(await one.call(await person(), 'list_skills')), 'ok');
    await ask(boss, 'update_budget', { id, limit: 100 });
    for (const caller of [ann, key])
      for (const [tool, input] of [
        ['update_budget', { id, limit: 1000 }],
        ['delete_budget', { id }],
      ] as const)
        assert.equal(outcomeOf(await one.call(caller, tool, input)), 'forbidden');
  });

  it('is not used up by pages that they look at, but by what they change there', async () => {
    const ann = await person();
    const subject = { type: 'person', id: ann.id };
    await limit(subject, 'calls', 2);
    const see = (tool: string, input = {}) => one.call(ann, tool, input, 'dashboard').then(outcomeOf);
    for (let times = 0; times < 5; times += 1) assert.equal(await see('list_skills'), 'ok');
    assert.equal(await used(subject), 0);
    assert.equal(await see('create_skill', { name: 'counted', instructions: 'x' }), 'ok');
    assert.equal(await used(subject), 1);
    assert.equal(outcomeOf(await one.call(ann, 'list_skills')), 'ok');
    assert.equal(outcomeOf(await one.call(ann, 'list_skills')), 'rate_limited');
    assert.equal(await see('list_skills'), 'ok');
  });

  it('counts tokens and cost of models too', async () => {
    const ann = await person();
    await ask(boss, 'update_settings', {
      ...{ currency: 'USD', prices: [{ model: MODEL, from: '2026-01-01', currency: 'USD', input: 1, output: 2 }] },
    });
    await ask(boss, 'create_agent', { name: 'ada', displayName: 'Ada' });
    const subject = { type: 'person', id: ann.id };
    await limit(subject, 'tokens', 20);
    await limit(subject, 'cost', 1);
    const other = await startProcess(second);
    const say = async (as: Principal) =>
      outcomeOf(await other.call(as, 'invoke_agent', { agent: 'ada', input: 'x', model: MODEL }));
    const key = await keyOf(ann);
    assert.deepEqual([await say(ann), await say(key), await say(key)], ['ok', 'ok', 'rate_limited']);
    await other.close();
    const { data } = await ask(boss, 'list_budgets', { subject });
    assert.deepEqual(
      data.map((each: { measure: string; used: number }) => [each.measure, each.used]),
      [
        ['cost', 0.00004],
        ['tokens', 30],
      ],
    );
  });

  it('is shown to a person who may see nothing else, and no other', async () => {
    const [ann, bob] = [await person({ scopes: ['skills:read'] }), await person({ scopes: ['skills:read'] })];
    const mine = await limit({ type: 'person', id: ann.id }, 'calls', 50);
    await limit({ type: 'person', id: bob.id }, 'calls', 50);
    await ask(ann, 'list_skills');
    const { data } = await ask(ann, 'list_budgets');
    assert.deepEqual(
      data.map(({ id, used }: { id: string; used: number }) => [id, used]),
      [[mine.id, 2]],
    );
    assert.deepEqual((await ask(ann, 'list_budgets', { subject: { type: 'person', id: bob.id } })).data, []);
    assert.equal(outcomeOf(await one.call(ann, 'update_budget', { id: mine.id, limit: 90 })), 'forbidden');
  });

  it('is of a person there is', async () => {
    for (const subject of [{ type: 'person', id: 'usr_none' }, { type: 'person' }, { type: 'workspace', id: 'x' }]) {
      const answer = await one.call(boss, 'create_budget', { subject, measure: 'calls', period: 'day', limit: 1 });
      assert.ok('error' in answer && answer.error.issues?.[0]?.path === 'subject.id', JSON.stringify(answer));
    }
  });
});

describe('a budget of the workspace', () => {
  it('counts everybody, refuses all but who may do everything and who signs in, and only the first raises it', async () => {
    const [ann, limited] = [await person(), await person({ scopes: ['admin'] })];
    const key = await keyOf(ann);
    const { id, subject } = await limit({ type: 'workspace' }, 'calls', 4);
    assert.deepEqual([subject.type, subject.id], ['workspace', 'workspace']);
    const other = await startProcess(second);
    const again = await one.call(boss, 'create_budget', {
      ...{ subject: { type: 'workspace', id: 'workspace' }, measure: 'calls', period: 'day', limit: 1 },
    });
    assert.equal(outcomeOf(again), 'conflict');
    for (const caller of [key, limited]) {
      const answer = await one.call(caller, 'update_budget', { id, limit: 100 });
      assert.ok(
        'error' in answer && /only a person who may do everything/.test(answer.error.error),
        JSON.stringify(answer),
      );
    }
    const calls = Array.from({ length: 12 }, (_, at) =>
      (at % 2 ? one : other).call(at % 3 ? key : limited, 'list_skills'),
    );
    const outcomes = (await Promise.all(calls)).map(outcomeOf);
    const ok = outcomes.filter((outcome) => outcome === 'ok').length;
    assert.ok(ok > 0 && ok < 4, outcomes.join());
    const refused = await other.call(key, 'list_skills');
    assert.ok('error' in refused && /budget of the workspace, 4 calls a day, is used up/.test(refused.error.error));
    assert.equal(outcomeOf(await other.call(ann, 'list_skills')), 'ok');
    assert.notEqual(outcomeOf(await one.call(anonymous('127.0.0.1'), 'create_session', {})), 'rate_limited');
    assert.ok((await used({ type: 'workspace' })) > 4);
    await ask(ann, 'update_budget', { id, limit: 1000 });
    assert.equal(outcomeOf(await one.call(key, 'list_skills')), 'ok');
    await ask(ann, 'delete_budget', { id });
    await other.close();
  });

  it('holds models of everybody', async () => {
    const ann = await person();
    await limit({ type: 'workspace' }, 'tokens', 15);
    const say = async (as: Principal) =>
      outcomeOf(await one.call(as, 'invoke_agent', { agent: 'ada', input: 'x', model: MODEL }));
    assert.deepEqual(
      [await say(await keyOf(ann)), await say(ann), await say(boss)],
      ['ok', 'rate_limited', 'rate_limited'],
    );
  });
});
