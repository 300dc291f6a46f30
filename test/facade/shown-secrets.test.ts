import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { type Capsule, capsuleClients } from '../support/capsules.ts';
import { serverForTests } from '../support/server.ts';
import { legacy } from './mcp-requests.ts';

const server = serverForTests();
const { make } = capsuleClients(() => server);
const { must: admin } = callsOf(server);

/** One connection, over which all of the test's own requests go. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const sockets = new Set<Socket>();
after(() => agent.destroy());

async function statusOf(path: string, secret: string): Promise<number | undefined> {
  const asking = request(`${server.baseUrl}${path}`, {
    method: 'POST',
    agent,
    headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
  });
  asking.on('socket', (socket) => sockets.add(socket));
  asking.end(JSON.stringify(legacy('tools/list')));
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode;
}

const asCapsule = ({ id, token }: Capsule) => statusOf(`/api/capsules/${id}/mcp`, token);
const asKey = (secret: string) => statusOf('/api/v1/mcp', secret);

describe('a secret shown again on the same connection', () => {
  it('of a capsule ends with rotation, disabling, deletion and expiry at once', async () => {
    const rotated = await make();
    assert.deepEqual([await asCapsule(rotated), await asCapsule(rotated)], [200, 200]);
    const renewed = { ...rotated, ...(await admin('rotate_capsule_token', { id: rotated.id })) };
    assert.deepEqual([await asCapsule(rotated), await asCapsule(renewed), await asCapsule(renewed)], [401, 200, 200]);
    await admin('update_capsule', { id: rotated.id, status: 'disabled' });
    assert.equal(await asCapsule(renewed), 403);
    await admin('update_capsule', { id: rotated.id, status: 'live' });
    assert.equal(await asCapsule(renewed), 200);
    await admin('delete_capsule', { id: rotated.id });
    assert.equal(await asCapsule(renewed), 401);
    const expiring = await make({ expiresAt: server.clock.in(60_000) });
    assert.deepEqual([await asCapsule(expiring), await asCapsule(expiring)], [200, 200]);
    server.clock.pass(61_000);
    assert.equal(await asCapsule(expiring), 401);
  });

  it('of a capsule that was replaced is accepted for its time of grace and no longer', async () => {
    const old = await make();
    await admin('rotate_capsule_token', { id: old.id, graceSeconds: 60 });
    assert.deepEqual([await asCapsule(old), await asCapsule(old)], [200, 200]);
    server.clock.pass(61_000);
    assert.equal(await asCapsule(old), 401);
  });

  it('of a key ends with the key, and is not taken for another', async () => {
    const newKey = () => admin('create_api_key', { name: 'test', scopes: ['read'] });
    const [one, other] = [await newKey(), await newKey()];
    assert.deepEqual([await asKey(one.secret), await asKey(one.secret)], [200, 200]);
    await admin('revoke_api_key', { id: one.id });
    const shown = [await asKey(one.secret), await asKey(other.secret), await asKey(one.secret)];
    assert.deepEqual(shown, [401, 200, 401]);
    const capsule = await make();
    assert.deepEqual(
      [await asKey(capsule.token), await asCapsule(capsule), await asKey(other.secret)],
      [403, 200, 200],
    );
    assert.equal(sockets.size, 1);
  });
});
