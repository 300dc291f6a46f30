import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entityType } from '../../resources/version.ts';
import { catalog } from '../../tools/catalog.ts';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { allowlistLimit } from '../../tools/core/access/allowlist.ts';
import type { GuardedTool } from '../../tools/core/access/guarded-tool.ts';
import { principalOf as keyPrincipal } from '../../tools/core/access/key-principal.ts';
import { hashSecret } from '../../tools/core/access/key-secret.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { mayCall } from '../../tools/core/access/reach.ts';
import { subjectsIn } from '../../tools/core/access/subjects.ts';
import { kinds } from '../../tools/kinds.ts';
import { FULL } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const world = await openTestRegistry();

const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
const VERSIONS = ['list_versions', 'get_version', 'diff_version', 'restore_version'];
const NAMED = [
  'list_agents',
  'get_agent',
  'update_agent',
  'get_settings',
  'update_settings',
  'get_bot_config',
  'send_chat_message',
  'search',
];

const rights = fc.oneof(
  fc.record({
    scopes: fc.uniqueArray(fc.constantFrom('read', 'write', 'agents:read', 'agents:write', 'skills:write'), {
      minLength: 1,
    }),
  }),
  fc.record({
    grants: fc.uniqueArray(
      fc.constantFrom(
        'agent',
        'agent:read',
        'agent:write',
        'agent:invoke',
        'skill',
        'settings',
        'settings:read',
        'thread',
        'memory',
        'flow:read',
        '*:read',
        '*',
      ),
      { minLength: 1 },
    ),
  }),
);
const allowlist = fc.uniqueArray(fc.constantFrom('*', 'list_*', 'get_*', '*_agent', ...VERSIONS, ...NAMED), {
  maxLength: 4,
});
const usual = FULL ? 400 : 60;

/** Calls of the tools whose right depends on the input, one of each kind, and one without arguments of every other. */
function callsOf(tool: GuardedTool): object[] {
  if (VERSIONS.includes(tool.name)) return entityType.options.map((type) => ({ entityType: type, entityId: 'x' }));
  if (tool.name === 'send_chat_message') return [{}, { threadId: 'thr_1' }, { agentId: 'agt_1' }];
  return [{}];
}

describe('an allowlist that a caller may write', () => {
  it('gives an agent nothing that the caller may not do, whoever runs it', async () => {
    const subjects = subjectsIn(world.store, kinds);
    let written = 0;
    await fc.assert(
      fc.asyncProperty(rights, allowlist, async (given, tools) => {
        const giver = principalOf({ type: 'api-key', id: 'key_giver', ...given });
        const answer = await world.call(giver, 'create_agent', { name: `a ${Math.random()}`, displayName: 'A', tools });
        if ('error' in answer) return assert.equal(answer.error.code, 'forbidden');
        written += 1;
        const agent = actingFor(admin, { id: 'agt_1', name: 'a', tools }, catalog);
        for (const { tool } of catalog.entries) {
          for (const input of callsOf(tool)) {
            if (!(await mayCall(agent, tool, input, subjects))) continue;
            const own = tool.discovery || (await mayCall(giver, tool, input, subjects));
            assert.ok(own, `${JSON.stringify(given)} ${tools}: ${tool.name} ${JSON.stringify(input)}`);
          }
        }
      }),
      { numRuns: usual },
    );
    assert.ok(written > usual / 20, `only ${written} lists could be written`);
  });

  it('may hold versions tools and globs where the caller writes records, and the agent reaches what the caller reaches', async () => {
    const writer = principalOf({ type: 'api-key', id: 'key_writer', scopes: ['write'] });
    for (const tools of [['*'], ['list_*', 'get_*'], VERSIONS]) {
      const answer = await world.must(writer, 'create_agent', { name: `w ${tools}`, displayName: 'W', tools });
      await world.must(writer, 'update_agent', { id: answer.id, instructions: 'x' });
    }
    const agent = actingFor(admin, { id: 'agt_1', name: 'a', tools: ['*'] }, catalog);
    const restore = catalog.get('restore_version')?.tool;
    assert.ok(restore);
    const may = (type: string) =>
      mayCall(agent, restore, { entityType: type, entityId: 'x' }, subjectsIn(world.store, kinds));
    assert.deepEqual([await may('agent'), await may('agent-config')], [true, false]);
  });

  it('of who is limited to some tools has those for versions where the limit has the tools whose work they do', async () => {
    const shows = catalog.get('list_versions')?.tool.actsAs?.tools.map(({ name }) => name) ?? [];
    assert.ok(shows.length > 5);
    const writing = async (given: readonly string[], tools: readonly string[]) => {
      const allowedTools = ['create_agent', 'list_versions', ...given];
      const limited = { ...admin, tools: allowlistLimit('the test', allowedTools) };
      return world.codeOf(limited, 'create_agent', { name: `c ${Math.random()}`, displayName: 'C', tools });
    };
    assert.equal(await writing(['get_agent'], ['get_agent']), 'ok');
    assert.equal(await writing(['get_agent'], ['list_versions']), 'forbidden');
    assert.equal(await writing(shows.slice(1), ['list_versions']), 'forbidden');
    assert.equal(await writing(shows, ['list_versions']), 'ok');
  });

  it('is refused with the right that is missing', async () => {
    const reader = principalOf({ type: 'api-key', id: 'key_r', grants: ['agent', 'skill:read'] });
    const asked = { displayName: 'R', name: 'r' };
    for (const [tools, required] of [
      [['send_chat_message'], { scope: 'chat:write', grant: 'thread:read:{threadId}, thread:write:{threadId}' }],
      [['list_versions', 'get_settings'], { scope: 'admin', grant: 'settings:read' }],
      [['update_skill'], { scope: 'skills:write', grant: 'skill:write:{id}' }],
    ] as const) {
      const answer = await world.refused(reader, 'create_agent', { ...asked, tools });
      assert.deepEqual(answer.required, required);
    }
  });
});

describe('explain_access', () => {
  it('agrees with the call, whatever the principal and what the call would hand out or steer', async () => {
    const made = await world.must(admin, 'create_agent', {
      name: 'steered',
      displayName: 'S',
      tools: ['get_settings', 'list_*'],
    });
    const id = String(made.id);
    const call = fc.oneof(
      allowlist.map((tools) => ['create_agent', { name: `e ${Math.random()}`, displayName: 'E', tools }] as const),
      allowlist.map((tools) => ['update_agent', { id, tools }] as const),
      fc.constantFrom<readonly [string, object]>(
        ['update_agent', { id: 'steered', instructions: 'x' }],
        ['update_agent', { id, displayName: 'x' }],
        ['create_memory', { content: 'x', kind: 'instruction' }],
        ['create_memory', { content: 'x' }],
        ['update_bot_config', { promptSections: { Tone: 'x' } }],
        ['list_versions', { entityType: 'agent', entityId: id }],
        ['list_versions', { entityType: 'agent-config', entityId: 'bot-config' }],
        ['get_agent', { id }],
      ),
    );
    await fc.assert(
      fc.asyncProperty(rights, call, async (given, [tool, input]) => {
        const key = await keyOf(given);
        const said = await world.must(admin, 'explain_access', { keyId: key.id, tool, arguments: input });
        const answer = await world.call(key, tool, input);
        const refused = 'error' in answer && answer.error.code === 'forbidden';
        const about = `${JSON.stringify(given)} ${tool} ${JSON.stringify(input)} ${JSON.stringify(said)}`;
        assert.equal(said.verdict, refused ? 'denied' : 'allowed', about);
        if (refused) assert.deepEqual(said.required, answer.error.required, about);
        if (tool === 'update_agent') await world.call(admin, 'update_agent', { id, tools: ['get_settings', 'list_*'] });
      }),
      { numRuns: usual },
    );
  });

  it('agrees with the call about credentials, flows, people, earlier states and purges', async () => {
    let refusedBeyond = 0;
    await fc.assert(
      fc.asyncProperty(
        managing,
        fc.constantFrom('owner', 'member'),
        fc.constantFrom(...Object.keys(managed)),
        lists,
        async (given, role, tool, entries) => {
          const key = await keyOf(given, role);
          const [name = '', input] = [tool.split(' ')[0], await managed[tool]?.(entries, key)];
          const said = await world.must(admin, 'explain_access', { keyId: key.id, tool: name, arguments: input });
          const answer = await world.call(key, name, input);
          const refused = 'error' in answer && answer.error.code === 'forbidden';
          const about = `${JSON.stringify(given)} ${role} ${tool} ${JSON.stringify(input)} ${JSON.stringify(said)}`;
          const came = 'error' in answer ? `${about} ${JSON.stringify(answer.error)}` : about;
          assert.equal(said.verdict, refused ? 'denied' : 'allowed', came);
          if (refused) assert.deepEqual(said.required, answer.error.required, came);
          const checks = said.checks as { check: string }[];
          if (checks.some(({ check }) => check === 'delegation')) refusedBeyond += 1;
        },
      ),
      { numRuns: usual * 4 },
    );
    assert.ok(refusedBeyond > usual / 3, `only ${refusedBeyond} calls were refused for what they hand out`);
  });
});

const managing = fc.oneof(
  fc.record({ scopes: fc.uniqueArray(fc.constantFrom('read', 'write', 'admin'), { minLength: 1 }) }),
  fc.record({
    grants: fc
      .uniqueArray(fc.constantFrom('agent', 'agent:read', 'skill', 'skill:read', 'settings', '*:read', 'memory', '*'), {
        maxLength: 3,
      })
      .map((own) => [...own, 'key', 'capsule', 'flow', 'report', 'budget', 'admin-user', 'record', 'agent:write']),
  }),
  fc.record({ grants: fc.constantFrom(['agent:write:steered'], ['flow', 'agent:read'], ['record', 'capsule:delete']) }),
);
const lists = fc.uniqueArray(fc.constantFrom('list_agents', 'get_settings', 'create_skill', 'list_flows', 'list_*'), {
  minLength: 1,
  maxLength: 2,
});

/** By tool, and what it is called for: the arguments of a call, on records that somebody else just made. */
const managed: Readonly<Record<string, (entries: readonly string[], caller: Principal) => Promise<object>>> = {
  'create_api_key with grants': async () => ({ name: 'k', scopes: [], grants: ['agent:read'] }),
  'create_api_key with scopes': async () => ({ name: 'k', scopes: ['read'] }),
  revoke_api_key: async () => ({ id: (await theirs()).id }),
  rotate_api_key: async () => ({ id: (await theirs()).id }),
  'take_over key': async () => ({ type: 'key', id: (await theirs()).id, expectedRevision: 1 }),
  'take_over key in a thread': async () => ({ type: 'key', id: (await inThread()).id, expectedRevision: 1 }),
  create_capsule: async (allowedTools) => ({ name: 'c', allowedTools }),
  'update_capsule its tools': async (allowedTools) => ({
    id: await made('create_capsule', { name: 'c' }),
    allowedTools,
  }),
  'update_capsule its name': async (allowedTools) => ({ id: await capsule(allowedTools), name: 'd' }),
  'update_capsule its accounts': async () => ({
    id: await made('create_capsule', { name: 'c', integrationAccounts: 'owner' }),
    status: 'live',
  }),
  rotate_capsule_token: async (tools) => ({ id: await capsule(tools) }),
  'take_over capsule': async (tools) => ({
    type: 'capsule',
    id: await capsule(tools),
    expectedRevision: 1,
    token: 'keep',
  }),
  'purge_record capsule': async (tools) => ({ entityType: 'capsule', id: await capsule(tools) }),
  'purge_record memory': async () => ({
    entityType: 'memory',
    id: await made('create_memory', { content: 'x', kind: 'instruction' }),
  }),
  create_flow: async (tools) => ({ name: 'f', steps: stepsOf(tools) }),
  'create_flow with an agent': async () => ({ name: 'f', agentId: await agent(), prompt: 'p' }),
  'update_flow its steps': async (tools) => ({ id: await made('create_flow', { name: 'f' }), steps: stepsOf(tools) }),
  'update_flow its name': async (tools) => ({ id: await flow(tools), name: 'g' }),
  'take_over flow': async (tools) => ({ type: 'flow', id: await flow(tools), expectedRevision: 1 }),
  'restore_version flow': async (tools) => firstState('flow', await flow(tools), 'update_flow', { steps: null }),
  'restore_version flow with the same steps': async (tools) =>
    firstState('flow', await flow(tools), 'update_flow', { name: 'g' }),
  'restore_version agent': async () => firstState('agent', await agent(), 'update_agent', { instructions: 'x' }),
  'restore_version agent of another name': async () =>
    firstState('agent', await agent(), 'update_agent', { name: `n ${Math.random()}` }),
  'restore_version deleted agent': async () => firstState('agent', await agent(), 'delete_agent', {}),
  'restore_version skill': async () => {
    const id = await made('create_skill', { name: `s ${Math.random()}`, instructions: 'x' });
    await made('create_agent', { name: `a ${Math.random()}`, displayName: 'A', tools: ['list_*'], skillIds: [id] });
    return firstState('skill', id, 'update_skill', { instructions: 'y' });
  },
  'restore_version memory': async () =>
    firstState('memory', await made('create_memory', { content: 'x', kind: 'instruction' }), 'update_memory', {
      content: 'y',
    }),
  'restore_version agent-config': async () => {
    const { output } = must(
      await world.call(admin, 'list_versions', { entityType: 'agent-config', entityId: 'bot-config' }),
    );
    return { entityType: 'agent-config', entityId: 'bot-config', versionId: Object(output.data)[0].id };
  },
  'update_agent its name': async () => ({ id: await agent(), name: `n ${Math.random()}` }),
  'create_admin_user owner': async () => ({ email: `${Math.random()}@example.com`, role: 'owner' }),
  'create_admin_user member': async () => ({ email: `${Math.random()}@example.com` }),
  'update_admin_user to be an owner': async () => ({ id: await person('member'), role: 'owner' }),
  'update_admin_user name': async () => ({ id: await person('owner'), name: 'x' }),
  'update_admin_user limit': async () => ({ id: await person('owner'), access: { scopes: ['read'] } }),
  'create_report of a tool': async ([tool = '']) => ({ title: 'r', query: { tool, arguments: {} } }),
  'update_report of a tool': async ([tool = '']) => ({
    id: await made('create_report', { title: 'r', query: { tool: 'list_agents', arguments: {} } }),
    query: { tool, arguments: {} },
  }),
  'update_budget of the caller': async (_, { id }) => ({ id: await budget(id), limit: 2 }),
  'delete_budget of somebody else': async () => ({ id: await budget((await theirs()).id) }),
  deactivate_admin_user: async () => ({ id: await person('owner') }),
  reactivate_admin_user: async () => ({ id: await person('owner') }),
};

function must(answer: Awaited<ReturnType<typeof world.call>>) {
  assert.ok('output' in answer, JSON.stringify(answer));
  return answer;
}

async function made(tool: string, input: object): Promise<string> {
  return String(must(await world.call(await owner, tool, input)).output.id);
}

const owner = keyOf({ scopes: ['admin'] });
const theirs = () => keyOf({ scopes: ['agents:read'] });
const person = async (role: string) => (await keyOf({}, role)).ownerId;
const capsule = (allowedTools: readonly string[]) => made('create_capsule', { name: 'c', allowedTools });
const flow = (tools: readonly string[]) => made('create_flow', { name: 'f', steps: stepsOf(tools) });
const agent = () => made('create_agent', { name: `m ${Math.random()}`, displayName: 'M', tools: ['get_settings'] });
const budget = (id: string) =>
  made('create_budget', { subject: { type: 'key', id }, measure: 'calls', period: 'day', limit: 1_000_000 });
const ARGUMENTS: Readonly<Record<string, object>> = { create_skill: { name: 'x', instructions: 'x' } };

/** A flow names each tool, without globs. */
function stepsOf(tools: readonly string[]) {
  const named = tools.filter((tool) => !tool.includes('*'));
  return named.map((tool, at) => ({ id: `s${at}`, tool, arguments: ARGUMENTS[tool] ?? {} }));
}

/** A key with an entry in a thread that it shares with nobody. */
async function inThread(): Promise<Principal> {
  const key = await theirs();
  const thread = await made('create_thread', { title: 't' });
  const entries = [{ principal: { type: 'api-key', id: key.id }, role: 'owner' }];
  must(await world.call(await owner, 'add_thread_access', { id: thread, entries }));
  must(await world.call(await owner, 'update_thread_access', { id: thread, visibility: 'restricted' }));
  return key;
}

/** The arguments that restore the record as it was made, after a change. */
async function firstState(entityType: string, entityId: string, tool: string, change: object) {
  must(await world.call(await owner, tool, { id: entityId, ...change }));
  const { output } = must(await world.call(admin, 'list_versions', { entityType, entityId }));
  return { entityType, entityId, versionId: Object(output.data).at(-1).id };
}

/** A stored key of these rights, as a door would have found it. */
function keyOf(
  { scopes = [], grants }: { scopes?: readonly string[]; grants?: readonly string[] },
  role = 'owner',
): Promise<Principal> {
  return world.store.transaction(async (tx) => {
    const owner = await tx.adminUsers.insert({ email: `${Math.random()}@example.com`, role, isActive: true });
    const proof = {
      prefix: Math.random().toString(36).slice(2, 10).padEnd(8, 'x'),
      hash: hashSecret(`${Math.random()}`),
    };
    const record = {
      name: 'k',
      ...proof,
      scopes: [...scopes],
      ...(grants && { grants: [...grants] }),
      ownerId: owner.id,
      createdBy: owner.id,
    };
    return keyPrincipal(await tx.apiKeys.insert(record), owner);
  });
}
