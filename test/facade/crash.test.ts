import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { rest } from '../support/calls.ts';
import { type ServerProcess, startProcess, withFolder } from '../support/child.ts';
import { rounds } from '../support/full.ts';
import { openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

const key = `ak_crash000_${'k'.repeat(40)}`;
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? rounds(2, 5));
const seed = Number(process.env.CRASH_SEED ?? Date.now() % 100_000);

/** Creates agents from 64 callers until the server is gone; the ids that were acknowledged, as they come, and answers of any other kind. */
function create(server: ServerProcess) {
  const acknowledged: string[] = [];
  const refused: unknown[] = [];
  let next = 0;
  const caller = async () => {
    for (;;) {
      next += 1;
      const body = { name: `agent ${next}`, displayName: 'x' };
      const answer = await rest(server, 'POST', '/api/v1/agents', { key, body });
      if (answer.status === 201) acknowledged.push(answer.body.id);
      else refused.push(answer.body);
    }
  };
  const over = Promise.allSettled(Array.from({ length: 64 }, caller));
  return { acknowledged, refused, over };
}

it(`kill -9 of a server under load loses no acknowledged agent, version or audit entry and has none twice (${ROUNDS} rounds, seed ${seed})`, async () => {
  let total = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await withFolder(async (folder) => {
      const server = await startProcess(folder, { BOOTSTRAP_API_KEY: key, LOG_LEVEL: 'silent' });
      const { acknowledged, refused, over } = create(server);
      await until(() => acknowledged.length > 0);
      await delay((seed * 7919 + round * 104_729) % 450);
      await server.stop('SIGKILL');
      await over;
      assert.deepEqual(refused, []);
      total += acknowledged.length;

      const store = await openStoreIn(folder);
      const count = await store.agents.count({});
      const versions = await store.versions.count({ where: { entityType: 'agent' } });
      assert.equal(versions, count, 'one version for each agent');
      const { records } = await store.audit.find({ tool: 'create_agent', outcome: 'ok', limit: 1_000_000 });
      assert.equal(records.length, count, 'one audit entry for each agent');
      assert.equal(new Set(records.map((entry) => entry.arguments.name)).size, count);
      for (const id of acknowledged) {
        assert.ok(await store.agents.get(id), `${id} was acknowledged`);
        assert.equal(await store.versions.count({ where: { entityType: 'agent', entityId: id } }), 1);
      }
      await store.close();
    });
  }
  console.log(`${total} acknowledged agents in ${ROUNDS} rounds, none lost`);
});

it('the call of a replayed answer is in the audit log, also where the server is killed as it was answered', async () => {
  await withFolder(async (folder) => {
    const server = await startProcess(folder, { BOOTSTRAP_API_KEY: key, LOG_LEVEL: 'silent' });
    const headers = { 'Idempotency-Key': 'one' };
    const post = () => rest(server, 'POST', '/api/v1/agents', { key, headers, body: { name: 'a', displayName: 'a' } });
    await post();
    const again = await post();
    await server.stop('SIGKILL');
    assert.equal(again.headers.get('Idempotency-Replayed'), 'true');

    const store = await openStoreIn(folder);
    const requestId = again.headers.get('X-Request-Id') ?? '';
    assert.equal(await store.audit.count({ requestId }), 1);
    await store.close();
  });
});
