import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entityType } from '../../resources/version.ts';
import { catalog } from '../../tools/catalog.ts';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
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
      const answer = await world.call(writer, 'create_agent', { name: `w ${tools}`, displayName: 'W', tools });
      assert.ok('output' in answer, JSON.stringify(answer));
      const steered = await world.call(writer, 'update_agent', { id: answer.output.id, instructions: 'x' });
      assert.ok('output' in steered, JSON.stringify(steered));
    }
    const agent = actingFor(admin, { id: 'agt_1', name: 'a', tools: ['*'] }, catalog);
    const restore = catalog.get('restore_version')?.tool;
    assert.ok(restore);
    const may = (type: string) =>
      mayCall(agent, restore, { entityType: type, entityId: 'x' }, subjectsIn(world.store, kinds));
    assert.deepEqual([await may('agent'), await may('agent-config')], [true, false]);
  });

  it('is refused with the right that is missing', async () => {
    const reader = principalOf({ type: 'api-key', id: 'key_r', grants: ['agent', 'skill:read'] });
    const asked = { displayName: 'R', name: 'r' };
    for (const [tools, required] of [
      [['send_chat_message'], { scope: 'chat:write', grant: 'thread:read:{threadId}, thread:write:{threadId}' }],
      [['list_versions', 'get_settings'], { scope: 'admin', grant: 'settings:read' }],
      [['update_skill'], { scope: 'skills:write', grant: 'skill:write:{id}' }],
    ] as const) {
      const answer = await world.call(reader, 'create_agent', { ...asked, tools });
      assert.ok('error' in answer);
      assert.deepEqual(answer.error.required, required);
    }
  });
});

describe('explain_access', () => {
  it('agrees with the call, whatever the principal and what the call would hand out or steer', async () => {
    const made = await world.call(admin, 'create_agent', {
      name: 'steered',
      displayName: 'S',
      tools: ['get_settings', 'list_*'],
    });
    assert.ok('output' in made);
    const id = String(made.output.id);
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
        const said = await world.call(admin, 'explain_access', { keyId: key.id, tool, arguments: input });
        assert.ok('output' in said, JSON.stringify(said));
        const answer = await world.call(key, tool, input);
        const refused = 'error' in answer && answer.error.code === 'forbidden';
        const about = `${JSON.stringify(given)} ${tool} ${JSON.stringify(input)} ${JSON.stringify(said.output)}`;
        assert.equal(said.output.verdict, refused ? 'denied' : 'allowed', about);
        if (refused) assert.deepEqual(said.output.required, answer.error.required, about);
        if (tool === 'update_agent') await world.call(admin, 'update_agent', { id, tools: ['get_settings', 'list_*'] });
      }),
      { numRuns: usual },
    );
  });
});

/** A stored key of these rights, as a door would have found it. */
function keyOf({ scopes = [], grants }: { scopes?: string[]; grants?: string[] }): Promise<Principal> {
  return world.store.transaction(async (tx) => {
    const owner = await tx.adminUsers.insert({ email: `${Math.random()}@example.com`, role: 'owner', isActive: true });
    const proof = {
      prefix: Math.random().toString(36).slice(2, 10).padEnd(8, 'x'),
      hash: hashSecret(`${Math.random()}`),
    };
    const record = { name: 'k', ...proof, scopes, ...(grants && { grants }), ownerId: owner.id, createdBy: owner.id };
    return keyPrincipal(await tx.apiKeys.insert(record), owner);
  });
}
