import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeRoom, removeEndedConnections, removeUnusedClients } from '../../../facade/oauth/unused-clients.ts';
import { mustCall } from '../../support/calls.ts';
import { OAuthClient } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';
import { writing } from '../../support/writing.ts';

const server = serverForTests({ TRUSTED_PROXIES: 'loopback' });
const HOUR = 60 * 60_000;

it('what is left of connections goes: tokens of those that ended, and those whose tokens all expired', async () => {
  const { store, clock } = server;
  const client = await OAuthClient.registered(server);
  for (const _ of ['ended', 'unused', 'kept']) await client.connected();
  const { records } = await store.connectedApps.find({ limit: 3, order: 'oldest' });
  const [ended, unused, kept] = records.map(({ id }) => id);
  await mustCall(server, server.adminKey, 'disconnect_app', { id: ended });
  const states = (grantId = '') => store.oauthStates.count({ where: { grantId } });
  await store.transaction(async (tx) => {
    const { records } = await tx.oauthStates.find({ where: { grantId: unused ?? '' }, limit: 10 });
    for (const { id, kind } of records) if (kind !== 'Grant') await tx.oauthStates.delete(id);
  });
  await removeEndedConnections(store, clock.now());
  assert.ok(await store.connectedApps.get(unused ?? ''), 'the client may still come for its tokens');
  clock.pass(HOUR);
  await removeEndedConnections(store, clock.now());
  assert.equal(await store.connectedApps.get(unused ?? ''), undefined);
  assert.deepEqual([await states(ended), await states(unused)], [0, 0]);
  assert.ok((await states(kept)) > 0 && (await store.connectedApps.get(kept ?? '')));
});

describe('a client that made itself known', () => {
  const at = (days: number) => new Date(server.clock.now().getTime() + days * 24 * HOUR);

  it('is forgotten 7 days later if nobody let it in, and 180 days after its last connection if somebody did', async () => {
    const { store, clock } = server;
    const used = await OAuthClient.registered(server);
    const unused = await OAuthClient.registered(server);
    clock.pass(100 * 24 * HOUR);
    used.person = 'later@example.com'; // whose session is of today
    await mustCall(server, server.adminKey, 'create_admin_user', { email: used.person });
    await used.connected();
    const [app] = (await store.connectedApps.find({ where: { clientId: used.clientId }, limit: 1 })).records;
    const isThere = async ({ clientId }: OAuthClient) =>
      (await store.oauthClients.count({ where: { clientId } })) === 1;
    await removeUnusedClients(store, clock.now());
    assert.deepEqual([await isThere(used), await isThere(unused)], [true, false]);
    await removeUnusedClients(store, at(181));
    assert.ok(await isThere(used), 'it is connected');
    await mustCall(server, server.adminKey, 'disconnect_app', { id: app?.id });
    await removeUnusedClients(store, at(179));
    assert.ok(await isThere(used), 'registered 279 days ago, and connected 179 days ago');
    await removeUnusedClients(store, at(181));
    assert.ok(!(await isThere(used)));
  });

  it('stays 7 days where nobody has let it in yet', async () => {
    const client = await OAuthClient.registered(server);
    await removeUnusedClients(server.store, at(6.9));
    assert.equal(await server.store.oauthClients.count({ where: { clientId: client.clientId } }), 1);
  });

  it('makes room, where too many were never used: the oldest of the network that has most', async () => {
    const { store } = server;
    const from = async (network: string, lastUsedAt?: string) => {
      const networkHash = network.padEnd(64, '-');
      const kept = {
        kind: 'registered' as const,
        name: 'x',
        redirectUris: ['http://127.0.0.1/back'],
        metadata: {},
        networkHash,
      };
      const clientId = `client ${Math.random()}`;
      await writing(store).oauthClients.insert({ ...kept, clientId, ...(lastUsedAt && { lastUsedAt }) });
      return clientId;
    };
    const isThere = async (clientId: string) => (await store.oauthClients.count({ where: { clientId } })) === 1;
    const others = await store.oauthClients.find({ where: { kind: 'registered' }, limit: 100 });
    for (const { id } of others.records) await writing(store).oauthClients.delete(id);
    const known = await from('many', server.clock.in(0));
    const many = [await from('many'), await from('many')];
    const few = await from('few');
    await makeRoom(store, 'registered', 4);
    assert.ok((await Promise.all([known, ...many, few].map(isThere))).every(Boolean), 'there is room for a fourth');
    await makeRoom(store, 'registered', 3);
    assert.deepEqual(await Promise.all([known, ...many, few].map(isThere)), [true, false, true, true]);
    await makeRoom(store, 'metadata', 1);
    assert.ok(await isThere(few), 'it is of another kind');
  });
});
