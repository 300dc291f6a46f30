import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConnectedAppRecord } from '../../resources/connected-app.ts';
import { catalog } from '../../tools/catalog.ts';
import { appPrincipal } from '../../tools/core/access/app-principal.ts';
import { capsulePrincipal } from '../../tools/core/access/capsule-principal.ts';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { seesTool } from '../../tools/core/access/reach.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../support/registry.ts';
import { writing } from '../support/writing.ts';

const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
const UNIFIED = 'https://example.com/api/v1/mcp';

export async function addPerson({ store }: TestRegistry, email = 'ada@example.com') {
  return writing(store).adminUsers.insert({ email, role: 'admin', isActive: true });
}

type Given = Partial<Omit<ConnectedAppRecord, 'id' | 'createdAt' | 'updatedAt' | 'revision'>>;

export async function connect({ store }: TestRegistry, given: Given): Promise<ConnectedAppRecord> {
  const client = { name: 'Claude', host: 'claude.ai', verified: true };
  return writing(store).connectedApps.insert({
    clientId: 'https://claude.ai/client',
    client,
    resource: UNIFIED,
    scopes: [],
    ...given,
  });
}

async function outputOf(world: TestRegistry, caller: Principal, tool: string, input: object) {
  return await world.must(caller, tool, input);
}

async function principalFor({ store }: TestRegistry, app: ConnectedAppRecord): Promise<Principal> {
  const found = await appPrincipal(store, app, { catalog, now: new Date() });
  assert.ok(typeof found !== 'string', String(found));
  return found;
}

async function problemOf({ store }: TestRegistry, app: ConnectedAppRecord, now = new Date()): Promise<string> {
  const found = await appPrincipal(store, app, { catalog, now });
  assert.equal(typeof found, 'string');
  const standing = await credentialStatus({ type: 'app', id: app.id, name: 'Claude' }, store, { catalog, now });
  assert.equal(typeof standing, 'string');
  return String(found);
}

describe('the principal of a connected app', () => {
  it('is an app on behalf of its person, with what was handed out', async () => {
    const world = await openTestRegistry();
    const ada = await addPerson(world);
    const reading = await principalFor(world, await connect(world, { userId: ada.id, scopes: ['read'] }));
    assert.deepEqual(
      [reading.type, reading.name, reading.ownerId, reading.actsFor?.type, reading.actsFor?.id, reading.rights.isAdmin],
      ['app', 'Claude (claude.ai)', ada.id, 'session', ada.id, false],
    );
    const names = (principal: Principal) => world.registry.list(principal).map(({ tool }) => tool.name);
    assert.ok(names(reading).includes('list_agents'));
    assert.ok(!names(reading).includes('create_agent'));
    const full = names(await principalFor(world, await connect(world, { userId: ada.id, scopes: ['admin'] })));
    assert.ok(full.includes('create_agent') && full.includes('update_settings'));
    for (const name of ['create_api_key', 'list_capsules', 'create_sign_in_link', 'list_integrations', 'list_sessions'])
      assert.ok(!full.includes(name), name);
  });

  it('ends with its connection, its person and the key behind the sign-in', async () => {
    const world = await openTestRegistry();
    const ada = await addPerson(world);
    const app = await connect(world, { userId: ada.id, scopes: ['read'] });
    const key = await outputOf(world, admin, 'create_api_key', {
      name: 'link',
      scopes: ['admin'],
      expiresAt: '2100-01-01T00:00:00Z',
    });
    await writing(world.store).adminUsers.insert({
      id: 'usr_owner',
      email: 'o@example.com',
      role: 'owner',
      isActive: true,
    });
    const linked = await connect(world, { userId: ada.id, scopes: ['read'], endsWith: String(key.id) });
    assert.equal((await principalFor(world, linked)).actsFor?.madeWith?.id, key.id);
    await world.call(admin, 'revoke_api_key', { id: key.id });
    assert.match(await problemOf(world, linked), /API key/);
    await writing(world.store).adminUsers.update(ada.id, { isActive: false });
    assert.match(await problemOf(world, app), /deactivated/);
    await writing(world.store).adminUsers.update(ada.id, { isActive: true });
    await principalFor(world, app);
    await writing(world.store).connectedApps.delete(app.id);
    const now = new Date();
    const standing = await credentialStatus({ type: 'app', id: app.id, name: 'Claude' }, world.store, { catalog, now });
    assert.match(String(standing), /disconnected/);
  });

  it('has the reach of its capsule, and ends with its status, its token and its deletion', async () => {
    const world = await openTestRegistry();
    const ada = await addPerson(world, 'owner@example.com');
    const owner = { ...admin, ownerId: ada.id };
    const made = await outputOf(world, owner, 'create_capsule', {
      name: 'Support',
      allowedTools: ['list_agents', 'get_agent', 'create_project'],
      status: 'live',
    });
    const { id, tokenPrefix } = made as { id: string; tokenPrefix: string };
    const byToken = await connect(world, { capsuleId: id, tokenPrefix });
    const byPerson = await connect(world, { capsuleId: id, userId: ada.id });
    const principal = await principalFor(world, byToken);
    assert.deepEqual(
      world.registry.list(principal).map(({ tool }) => tool.name),
      ['list_agents', 'get_agent', 'create_project'],
    );
    assert.deepEqual([principal.actsFor?.type, principal.actsFor?.actsFor], ['capsule', undefined]);
    assert.deepEqual((await principalFor(world, byPerson)).actsFor?.actsFor?.id, ada.id);

    await world.call(owner, 'update_capsule', { id, status: 'disabled' });
    assert.match(await problemOf(world, byToken), /disabled/);
    await world.call(owner, 'update_capsule', { id, status: 'live' });
    await world.call(owner, 'rotate_capsule_token', { id, graceSeconds: 60 });
    await principalFor(world, byToken);
    assert.match(await problemOf(world, byToken, new Date(Date.now() + 61_000)), /token/);
    await world.call(owner, 'rotate_capsule_token', { id });
    assert.match(await problemOf(world, byToken), /token/);
    await principalFor(world, byPerson);
    await world.call(owner, 'delete_capsule', { id });
    assert.match(await problemOf(world, byPerson), /deleted/);
  });

  it('does no more than the owner of its capsule may do now', async () => {
    const world = await openTestRegistry();
    const [ada, bob] = [await addPerson(world), await addPerson(world, 'bob@example.com')];
    const allowedTools = ['list_agents', 'create_project'];
    const input = { name: 'Support', allowedTools, status: 'live' };
    const made = await outputOf(world, { ...admin, ownerId: ada.id }, 'create_capsule', input);
    const { id, tokenPrefix } = made as { id: string; tokenPrefix: string };
    const apps = [
      await connect(world, { capsuleId: id, tokenPrefix }),
      await connect(world, { capsuleId: id, userId: bob.id }),
    ];
    const names = async (app: ConnectedAppRecord) =>
      world.registry.list(await principalFor(world, app)).map(({ tool }) => tool.name);
    for (const app of apps) assert.deepEqual(await names(app), allowedTools);
    await writing(world.store).adminUsers.update(ada.id, { access: { scopes: ['read'] } });
    for (const app of apps) assert.deepEqual(await names(app), ['list_agents']);
    await writing(world.store).adminUsers.update(ada.id, { access: null });
    for (const app of apps) assert.deepEqual(await names(app), allowedTools);
  });

  it('has no tool that apps cannot have, also where its capsule has it', async () => {
    const world = await openTestRegistry();
    const ada = await addPerson(world);
    const [shown] = catalog.entries.filter(({ tool }) => tool.name === 'get_agent');
    assert.ok(shown);
    const secret = { ...shown, tool: { ...shown.tool, name: 'get_secret_of_agent', answersSecret: true as const } };
    const entries = [...catalog.entries, secret];
    const bigger = {
      ...catalog,
      entries,
      get: (name: string) => (name === secret.tool.name ? secret : catalog.get(name)),
    };
    const allowedTools = ['get_agent', 'get_secret_of_agent'];
    const input = { name: 'Support', allowedTools, status: 'live' };
    const made = await outputOf(world, { ...admin, ownerId: ada.id }, 'create_capsule', input);
    const { id, tokenPrefix } = made as { id: string; tokenPrefix: string };
    const capsule = capsulePrincipal(await world.store.capsules.read(id), bigger, ada);
    const reached = (principal: Principal) =>
      [shown, secret].filter(({ tool }) => seesTool(principal, tool)).map(({ tool }) => tool.name);
    assert.deepEqual(reached(capsule), allowedTools);
    for (const given of [
      { capsuleId: id, tokenPrefix },
      { capsuleId: id, userId: ada.id },
    ]) {
      const found = await appPrincipal(world.store, await connect(world, given), { catalog: bigger, now: new Date() });
      assert.ok(typeof found !== 'string');
      assert.deepEqual(reached(found), ['get_agent']);
    }
  });
});
