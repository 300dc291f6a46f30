import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { rounds } from '../support/full.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../support/registry.ts';

const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });

/** Numbers that are the same for the same seed. */
function randomFrom(seed: number) {
  let state = seed;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  const one = <Item>(items: readonly [Item, ...Item[]]): Item => items[Math.floor(next() * items.length)] ?? items[0];
  return { one, some: <Item>(items: readonly Item[]) => items.filter(() => next() < 0.5) };
}

const SCOPES = [
  'read',
  'write',
  'admin',
  'agents:read',
  'agents:write',
  'skills:read',
  'threads:read',
  'threads:write',
];
const GRANTS = [
  'agent',
  'agent:read',
  'agent:read:ada',
  'agent:write:bob',
  'skill',
  'skill:read',
  'thread',
  'thread:read',
];
const TOOLS = [
  '*',
  'list_*',
  'get_*',
  'get_agent',
  'update_agent',
  'list_agents',
  'list_skills',
  'create_skill',
  'get_thread',
  'list_versions',
  'search',
];

interface World extends TestRegistry {
  readonly ids: Readonly<Record<'ada' | 'bob' | 'open' | 'secret' | 'skill', string>>;
  readonly owner: string;
}

async function openWorld(): Promise<World> {
  const registry = await openTestRegistry();
  const { store, must } = registry;
  const owner = await store.transaction((tx) =>
    tx.adminUsers.insert({ email: 'owner@example.com', role: 'owner', isActive: true }),
  );
  const make = async (tool: string, input: object) => (await must(admin, tool, input)).id as string;
  const ids = {
    ada: await make('create_agent', { name: 'ada', displayName: 'Ada', tools: ['list_*'] }),
    bob: await make('create_agent', { name: 'bob', displayName: 'Bob' }),
    open: await make('create_thread', { title: 'Open' }),
    secret: await make('create_thread', { title: 'Secret' }),
    skill: await make('create_skill', { name: 'tea', instructions: 'Tea' }),
  };
  await must(admin, 'update_thread_access', { id: ids.secret, visibility: 'restricted' });
  return { ...registry, ids, owner: owner.id };
}

type Random = ReturnType<typeof randomFrom>;

function randomCall({ ids }: World, { one }: Random): readonly [string, object] {
  const agent = one([ids.ada, ids.bob, 'ada', 'agt_none']);
  const thread = one([ids.open, ids.secret]);
  const stale = { expectedRevision: 999 }; // an allowed change is refused for another reason, so the world stays
  return one<readonly [string, object]>([
    ['list_agents', {}],
    ['list_agents', { status: 'active' }],
    ['get_agent', { id: agent }],
    ['update_agent', { id: agent, displayName: 'X', ...stale }],
    ['update_agent', { id: agent, tools: ['delete_agent'], ...stale }],
    ['delete_agent', { id: agent, ...stale }],
    ['list_skills', {}],
    ['get_skill', { id: ids.skill }],
    ['update_skill', { id: ids.skill, instructions: 'Coffee', ...stale }],
    ['get_thread', { id: thread }],
    ['update_thread', { id: thread, title: 'X', ...stale }],
    ['delete_thread', { id: thread, ...stale }],
    ['list_messages', { id: thread }],
    ['list_versions', { entityType: 'agent', entityId: one([ids.ada, ids.bob]) }],
    ['search', { q: 'ada' }],
    ['list_api_keys', {}],
    ['update_settings', { workspaceName: 'X', ...stale }],
    ['get_agent', {}],
  ]);
}

type Type = 'capsule' | 'key' | 'agent' | 'app';

/** The rights that the subject has, and the draft that it gets. */
function randomRights(type: Type, { ids }: World, { one, some }: Random): Record<string, unknown> {
  if (type === 'key')
    return one<Record<string, unknown>>([
      { scopes: some(SCOPES), grants: [] },
      { grants: [one(['agent', 'skill']), ...some(GRANTS)] },
    ]);
  if (type === 'agent') return { tools: some(TOOLS) };
  if (type === 'app') return { scopes: one([['read'], ['read', 'write'], ['read', 'write', 'admin']]) };
  const constraints = one<object | null>([
    null,
    { get_agent: { id: ids.ada } },
    { list_agents: { status: 'active' } },
    { list_versions: { entityType: 'agent', entityId: ids.ada } },
  ]);
  return { allowedTools: some(TOOLS), deniedTools: one([[], ['get_thread'], ['update_*']]), constraints };
}

const COLLECTIONS = { capsule: 'capsules', key: 'apiKeys', agent: 'agents', app: 'connectedApps' } as const;

/** What a call of a tool that changes what somebody may do writes. */
async function apply({ store }: World, type: Type, id: string, rights: Record<string, unknown>): Promise<void> {
  const { grants, ...rest } = rights as { grants?: string[] };
  const change = { ...rest, ...(grants && { grants: grants.length > 0 ? grants : null }) };
  await store.transaction(async (tx) => {
    const records: { update(id: string, change: object): Promise<unknown> } = tx[COLLECTIONS[type]];
    await records.update(id, change);
  });
}

async function makeSubject(world: World, type: Type, rights: Record<string, unknown>): Promise<string> {
  const { store, must, owner } = world;
  const own = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'], ownerId: owner });
  if (type === 'app') {
    const { id } = await store.transaction((tx) =>
      tx.connectedApps.insert({
        clientId: 'client',
        client: { name: 'App', host: 'app.example', verified: false },
        resource: 'http://localhost/api/v1/mcp',
        scopes: ['read'],
        userId: owner,
      }),
    );
    await apply(world, type, id, rights);
    return id;
  }
  const made = await {
    capsule: () => must(own, 'create_capsule', { name: 'c', status: 'live' }),
    key: () => must(own, 'create_api_key', { name: 'k', scopes: ['read'] }),
    agent: () => must(own, 'create_agent', { name: 'actor', displayName: 'Actor' }),
  }[type]();
  const id = made.capsule?.id ?? made.id;
  await apply(world, type, id, rights);
  return id;
}

async function principalFor({ store, owner }: World, type: Type, id: string): Promise<Principal> {
  const parts = { catalog, now: new Date() };
  if (type === 'agent') {
    const person = await credentialStatus({ type: 'session', id: owner, name: 'owner' }, store, parts);
    assert.ok(typeof person !== 'string');
    return actingFor(person, await store.agents.read(id), catalog);
  }
  const found = await credentialStatus({ type: type === 'key' ? 'api-key' : type, id, name: type }, store, parts);
  assert.ok(typeof found !== 'string', String(found));
  return found;
}

/** Whether access refused it: forbidden, an argument that is fixed, or a thread that exists and is hidden. */
function isRefused(world: World, [tool, input]: readonly [string, object], code: string, error?: string): boolean {
  if (code === 'forbidden') return true;
  if (code === 'invalid_input') return /is fixed by/i.test(error ?? '');
  const isThread = /thread$|messages$/.test(tool) && Object.values(input).some((id) => id === world.ids.secret);
  return code === 'not_found' && isThread;
}

describe('replay_calls', () => {
  for (const type of ['capsule', 'key', 'agent', 'app'] as const) {
    it(`gives the verdicts that the calls of a ${type} get once the draft is taken`, async () => {
      const seen = new Set<string>();
      let unjudged = 0;
      for (let round = 0; round < rounds(6, 60); round += 1) {
        const world = await openWorld();
        const random = randomFrom(20_261_128 + round * 7 + type.length);
        const id = await makeSubject(world, type, randomRights(type, world, random));
        const before = await principalFor(world, type, id);
        const calls = Array.from({ length: 25 }, () => randomCall(world, random));
        for (const [tool, input] of calls) await world.call(before, tool, input);
        await world.store.audit.flush();

        const draft = randomRights(type, world, random);
        const told = await world.must(admin, 'replay_calls', { [`${type}Id`]: id, draft });
        await apply(world, type, id, draft);
        const after = await principalFor(world, type, id);
        const refused = new Map<string, number>();
        for (const call of calls) {
          const answer = await world.call(after, ...call);
          const error = 'error' in answer ? answer.error : undefined;
          seen.add(error?.code ?? 'ok');
          if (isRefused(world, call, error?.code ?? 'ok', error?.error)) {
            refused.set(call[0], (refused.get(call[0]) ?? 0) + 1);
          }
        }
        const tally = new Map<string, number>();
        for (const { tool, count } of told.refused) tally.set(tool, (tally.get(tool) ?? 0) + count);
        const unknown = new Map<string, number>();
        for (const { tool, count, reason } of told.unknown) {
          // Only what was invalid when it was made is not judged.
          assert.match(reason, /do not fit the tool|It was invalid/);
          unknown.set(tool, (unknown.get(tool) ?? 0) + count);
        }
        const shown = `round ${round} ${JSON.stringify([draft, told.refused, told.unknown])}`;
        for (const tool of new Set(calls.map(([name]) => name))) {
          const [said, came] = [tally.get(tool) ?? 0, refused.get(tool) ?? 0];
          assert.ok(said <= came && came <= said + (unknown.get(tool) ?? 0), `${tool}: ${said}, ${came}; ${shown}`);
        }
        assert.equal(told.calls, calls.length);
        unjudged += told.unknown.length;
        await world.close();
      }
      assert.ok(seen.has('ok') && seen.has('forbidden'), [...seen].join());
      assert.ok(unjudged < rounds(6, 60) * 3, `${unjudged}`);
    });
  }
});

describe('a replayed call', () => {
  const replayed = async (world: World, keyId: string, grants: string[]) => {
    await world.store.audit.flush();
    return world.must(admin, 'replay_calls', { keyId, draft: { grants } });
  };

  it('is named with its rule, the latest entry and how often it was refused before', async () => {
    const world = await openWorld();
    const id = await makeSubject(world, 'key', { scopes: ['agents:read'] });
    const own = await principalFor(world, 'key', id);
    for (const agent of [world.ids.ada, world.ids.ada, world.ids.bob])
      await world.call(own, 'get_agent', { id: agent });
    await world.call(own, 'list_skills');
    const { calls, allowed, refused, unknown, subject } = await replayed(world, id, ['agent:read:bob']);
    assert.deepEqual([calls, allowed, unknown, subject.id], [4, 1, [], id]);
    const short = refused.map(({ tool, count, refusedBefore }: Record<string, unknown>) => [
      tool,
      count,
      refusedBefore,
    ]);
    assert.deepEqual(short, [
      ['get_agent', 2, 0],
      ['list_skills', 1, 1],
    ]);
    assert.equal(refused[0].rule, `No grant covers "agent:read:${world.ids.ada}"; nearest: "agent:read:bob".`);
    const [entry] = (await world.must(admin, 'list_audit_entries', { id: refused[0].example })).data;
    assert.deepEqual(entry.arguments, { id: world.ids.ada });
  });

  it('is named with the list that decides of a capsule and an agent, and what of the draft has no effect', async () => {
    const world = await openWorld();
    const tools = ['list_skills', 'get_skill'];
    const capsuleId = await makeSubject(world, 'capsule', { allowedTools: tools });
    const own = await principalFor(world, 'capsule', capsuleId);
    for (const [tool, input] of [
      ['list_skills', {}],
      ['get_skill', { id: world.ids.skill }],
    ] as const)
      await world.call(own, tool, input);
    const draft = { allowedTools: ['list_skills', 'get_agent', 'updat_skill'], deniedTools: ['list_s*'] };
    const replay = (input: object) => world.must(admin, 'replay_calls', input);
    const { refused, warnings } = await replay({ capsuleId, draft });
    const rules = (of: Record<string, string>[]) => Object.fromEntries(of.map(({ tool, rule }) => [tool, rule]));
    assert.deepEqual(rules(refused), {
      list_skills: 'list_skills is denied by "list_s*" in deniedTools.',
      get_skill: 'get_skill is not among the tools of the capsule "c".',
    });
    assert.equal(warnings.length, 2);
    assert.match(warnings[1], /^"updat_skill" matches no tool now; similar names: update_skill/);
    assert.equal((await replay({ capsuleId, draft: { allowedTools: tools } })).warnings, undefined);
    const agent = await world.store.agents.read(world.ids.ada);
    const key = await principalFor(world, 'key', await makeSubject(world, 'key', { scopes: ['read'] }));
    await world.call(actingFor(key, agent, catalog), 'list_skills', {}, 'agent');
    const of = await replay({ agentId: world.ids.ada, draft: { tools: ['get_agnt'] } });
    assert.deepEqual(rules(of.refused), { list_skills: 'list_skills is not among the tools of the agent ada.' });
    assert.match(of.warnings[0], /^"get_agnt" matches no tool now/);
  });

  it('is not judged where what decides is hidden in the log, or gone', async () => {
    const world = await openWorld();
    const id = await makeSubject(world, 'key', { scopes: ['admin'] });
    const own = await principalFor(world, 'key', id);
    const { id: gone } = await world.must(admin, 'create_agent', { name: 'gone', displayName: 'Gone' });
    await world.call(own, 'get_agent', { id: gone });
    await world.store.transaction((tx) => tx.agents.delete(gone));
    const webhook = { target: { url: 'https://hooks.example/x' }, name: 'n', alerts: ['flow.failed'] };
    await world.call(own, 'create_webhook', webhook);
    const tools = 'x'.repeat(5000);
    await world.call(own, 'update_agent', { id: world.ids.ada, instructions: tools, expectedRevision: 999 });
    const { refused, unknown, allowed } = await replayed(world, id, ['agent:read:gone', 'agent:write:ada', 'webhook']);
    assert.deepEqual(refused, []);
    const reasons = Object.fromEntries(unknown.map(({ tool, reason }: Record<string, string>) => [tool, reason]));
    assert.deepEqual(reasons, {
      get_agent: 'The record is gone, and what was known of it decides.',
      update_agent: 'The log hides arguments that decide.',
    });
    assert.equal(allowed, 1);
  });

  it('counts where an agent made it for the subject, and is within its rights', async () => {
    const world = await openWorld();
    const id = await makeSubject(world, 'key', { scopes: ['read'] });
    const agent = await world.store.agents.read(world.ids.ada);
    await world.call(actingFor(await principalFor(world, 'key', id), agent, catalog), 'list_skills', {}, 'agent');
    await world.call(actingFor(admin, agent, catalog), 'list_skills', {}, 'agent');
    const { calls, refused } = await replayed(world, id, ['agent']);
    assert.deepEqual([calls, refused.length], [1, 1]);
  });

  it('is told to those who may read the subject, of a draft that fits it', async () => {
    const world = await openWorld();
    const id = await makeSubject(world, 'key', { scopes: ['read'] });
    const auditor = principalOf({ type: 'api-key', id: 'key_2', grants: ['audit:read'] });
    assert.equal(await world.codeOf(auditor, 'replay_calls', { keyId: id, draft: {} }), 'not_found');
    const reader = principalOf({ type: 'api-key', id: 'key_2', grants: ['audit:read', 'key:read'] });
    assert.equal(await world.codeOf(reader, 'replay_calls', { keyId: id, draft: {} }), 'ok');
    const wrong = [
      { keyId: id, draft: { tools: ['x'] } },
      { keyId: id, draft: { scopes: ['none'] } },
      { draft: {} },
      { keyId: id, capsuleId: 'cap_1', draft: {} },
    ];
    for (const input of wrong) assert.equal(await world.codeOf(admin, 'replay_calls', input), 'invalid_input');
  });
});

describe('suggest_access', () => {
  for (const type of ['capsule', 'key', 'agent', 'app'] as const) {
    it(`suggests for a ${type} what allows each recorded call that was allowed, and none that was refused`, async () => {
      let narrower = 0;
      for (let round = 0; round < rounds(5, 50); round += 1) {
        const world = await openWorld();
        const random = randomFrom(77 + round * 13 + type.length);
        const id = await makeSubject(world, type, randomRights(type, world, random));
        const before = await principalFor(world, type, id);
        const calls = Array.from({ length: 12 }, () => randomCall(world, random));
        const judge = async (principal: Principal, call: readonly [string, object]) => {
          const answer = await world.call(principal, ...call);
          const error = 'error' in answer ? answer.error : undefined;
          return { refused: isRefused(world, call, error?.code ?? 'ok', error?.error), code: error?.code };
        };
        const first = [];
        for (const call of calls) first.push(await judge(before, call));
        await world.store.audit.flush();

        const { smallest, unusedTools, warnings } = await world.must(admin, 'suggest_access', { [`${type}Id`]: id });
        narrower += unusedTools.length;
        await apply(world, type, id, smallest);
        const after = await principalFor(world, type, id);
        const lost = warnings.find((text: string) => /would refuse/.test(text)) ?? '';
        for (const [index, call] of calls.entries()) {
          const told = `round ${round} ${JSON.stringify([call, smallest, warnings])}`;
          const now = await judge(after, call);
          if (first[index]?.refused) assert.ok(now.refused || now.code === 'invalid_input', told);
          else if (first[index]?.code !== 'invalid_input') assert.ok(!now.refused || lost.includes(call[0]), told);
          // What a key of full access saw, and what an agent steered with tools that it did not call, takes more.
          assert.ok(lost === '' || type === 'key' || (type === 'agent' && lost.includes('of update_agent;')), told);
        }
        await world.close();
      }
      assert.ok(narrower > 0);
    });
  }

  it('names grants and tools that nothing used, and keeps a tool whose fixed arguments limit others', async () => {
    const world = await openWorld();
    const id = await makeSubject(world, 'key', { grants: ['agent:read:ada', 'skill', 'thread:read'] });
    const own = await principalFor(world, 'key', id);
    await world.call(own, 'get_agent', { id: 'ada' });
    await world.call(own, 'get_skill', { id: world.ids.skill });
    await world.store.audit.flush();
    const told = await world.must(admin, 'suggest_access', { keyId: id });
    assert.deepEqual(told.smallest, { scopes: [], grants: ['agent:read:ada', 'skill:read'] });
    assert.deepEqual(told.unusedGrants, ['thread:read']);
    assert.ok(told.unusedTools.includes('update_skill') && !told.unusedTools.includes('get_skill'));

    const capsule = await makeSubject(world, 'capsule', {
      allowedTools: ['list_agents', 'get_agent', 'list_skills'],
      constraints: { list_agents: { status: 'active' } },
    });
    await world.call(await principalFor(world, 'capsule', capsule), 'get_agent', { id: world.ids.ada });
    await world.store.audit.flush();
    const { smallest, unusedTools, warnings } = await world.must(admin, 'suggest_access', { capsuleId: capsule });
    assert.deepEqual(smallest, { allowedTools: ['list_agents', 'get_agent'] });
    assert.deepEqual(unusedTools, ['list_agents', 'list_skills']);
    assert.match(warnings[0], /list_agents stays/);
  });
});
