import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allOf } from '../../tools/core/registry/paging.ts';
import { callsOf } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';

const server = await startTestServer({ RATE_LIMIT_PER_MINUTE: '0' });
const { must } = callsOf(server);
const cookie = await signIn(server);

/** The database must find the session within seconds. */
async function openPage(): Promise<number> {
  return (await fetch(`${server.baseUrl}/flows`, { headers: { accept: 'text/html', cookie }, redirect: 'manual' }))
    .status;
}

describe('very many flows', () => {
  it('may be made and changed at once while others go on to be answered', async () => {
    const { store } = server;
    const { id } = await must('create_flow', { name: 'x', steps: [{ id: 'a', tool: 'list_agents' }] });
    const { id: _, createdAt: __, updatedAt: ___, revision: ____, ...flow } = await store.flows.read(id);
    const made = Array.from({ length: 10_000 }, (_, n) => ({ ...flow, name: `flow ${n}` }));
    await store.transaction((tx) => tx.flows.insertAll(made));
    assert.equal(await openPage(), 200);
    const kept = await allOf(store.flows, {});
    await store.transaction(async (tx) => {
      for (const { id } of kept) await tx.flows.update(id, { name: 'changed' });
    });
    assert.equal(await openPage(), 200);
  });
});
