import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import type { Access } from '../../tools/core/access/guarded-tool.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { writing } from '../support/writing.ts';
import { inputFor } from './inputs.ts';

const world = await openTestRegistry();

const ID = 'x0000000-none';
/** What versions of a type are shown by, and inputs by which the right depends. */
const MORE: Readonly<Record<string, readonly object[]>> = {
  send_chat_message: [
    { message: 'x' },
    { message: 'x', agentId: ID },
    { message: 'x', threadId: ID },
    { message: 'x', agentId: ID, threadId: ID },
  ],
  take_over: ['capsule', 'flow', 'key'].map((type) => ({ type, id: ID, expectedRevision: 1 })),
};
const types = 'agent skill flow agent-config memory project task document artifact database-record'.split(' ');
const ofTypes = (tool: string) => types.map((entityType) => ({ ...inputFor(tool), entityType }));

/** Every grant that the tools name, alone and with what goes with it, without ids. */
const accesses = catalog.entries.flatMap(({ tool: { access } }): readonly Access[] =>
  'among' in access ? access.among : [access],
);
const grants = [
  ...new Set(accesses.flatMap(({ grant }) => [grant].flat()).map((text) => text.split(':').slice(0, 2).join(':'))),
];
const sets = [
  ...grants.map((grant) => [grant]),
  ...accesses
    .filter(({ grant }) => Array.isArray(grant))
    .map(({ grant }) => [grant].flat().map((text) => text.split(':').slice(0, 2).join(':'))),
];

const OWNER = 'usr_own';

/** Inputs by which the right to the tool depends, and those for what is the caller's own. */
async function inputsOf(tool: string): Promise<readonly object[]> {
  if (tool === 'list_versions' || tool.endsWith('_version')) return ofTypes(tool);
  if (tool === 'update_admin_user') return [{ id: OWNER, name: 'x' }];
  if (tool === 'delete_passkey') return [{ id: await ownPasskey() }];
  return MORE[tool] ?? [inputFor(tool)];
}

async function ownPasskey(): Promise<string> {
  const key = { credentialId: `${Math.random()}`, publicKey: 'x', counter: 0, isSynced: false };
  const passkey = { ...key, userId: OWNER, name: 'x' };
  return (await writing(world.store).passkeys.insert(passkey)).id;
}

async function somePasses(key: Principal, tool: string): Promise<boolean> {
  for (const input of await inputsOf(tool)) {
    const answer = await world.call(key, tool, input);
    if (!('error' in answer) || answer.error.code !== 'forbidden') return true;
  }
  return false;
}

describe('a key with one grant', () => {
  for (const held of sets) {
    it(`${held}: lists the tools of which it can make some call, and no others`, async () => {
      const key = { ...principalOf({ type: 'api-key', id: 'key_1', grants: held }), ownerId: OWNER };
      const listed = new Set(world.registry.list(key).map(({ tool }) => tool.name));
      for (const { tool } of catalog.entries.filter((entry) => isListed(entry.tool))) {
        const passes = await somePasses(key, tool.name);
        assert.equal(listed.has(tool.name), passes, tool.name);
      }
    });
  }
});
