import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forgetEnded } from '../../../facade/oauth/upkeep.ts';
import { mustCall } from '../../support/calls.ts';
import { OAuthClient } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';

const server = serverForTests();
const HOUR = 60 * 60_000;

describe('what is left of connections', () => {
  it('goes: tokens of those that ended, and those whose tokens all expired', async () => {
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
    await forgetEnded(store, clock.now());
    assert.ok(await store.connectedApps.get(unused ?? ''), 'the client may still come for its tokens');
    clock.pass(HOUR);
    await forgetEnded(store, clock.now());
    assert.equal(await store.connectedApps.get(unused ?? ''), undefined);
    assert.deepEqual([await states(ended), await states(unused)], [0, 0]);
    assert.ok((await states(kept)) > 0 && (await store.connectedApps.get(kept ?? '')));
  });
});
