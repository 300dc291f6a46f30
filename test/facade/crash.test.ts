import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { rest } from '../support/calls.ts';
import { type ServerProcess, startProcess, withFolder } from '../support/child.ts';

const key = `ak_crash000_${'k'.repeat(40)}`;
const rounds = Number(process.env.CRASH_ROUNDS ?? 5);
const seed = Number(process.env.CRASH_SEED ?? Date.now() % 100_000);

/** Creates agents from 64 callers until 1,000 are made or the server is gone; the ids that were acknowledged. */
async function create(server: ServerProcess): Promise<string[]> {
  const acknowledged: string[] = [];
  let next = 0;
  const caller = async () => {
    while (next < 1000) {
      next += 1;
      const body = { name: `agent ${next}`, displayName: 'x' };
      const { status, body: agent } = await rest(server, 'POST', '/api/v1/agents', { key, body });
      assert.equal(status, 201);
      acknowledged.push(agent.id);
    }
  };
  await Promise.allSettled(Array.from({ length: 64 }, caller));
  return acknowledged;
}

describe('kill -9 of a server under load', () => {
  it(`loses no acknowledged agent, version or audit entry and has none twice (${rounds} rounds, seed ${seed})`, async () => {
    let total = 0;
    for (let round = 0; round < rounds; round += 1) {
      await withFolder(async (folder) => {
        const server = await startProcess(folder, { BOOTSTRAP_API_KEY: key, LOG_LEVEL: 'silent' });
        const creating = create(server);
        await delay(50 + ((seed * 7919 + round * 104_729) % 450));
        await server.stop('SIGKILL');
        const acknowledged = await creating;
        total += acknowledged.length;

        const store = await openLowdbStore({ folder });
        const count = await store.agents.count({});
        const versions = await store.versions.count({ where: { entityType: 'agent' } });
        assert.equal(versions, count, 'one version for each agent');
        const { records } = await store.audit.find({ tool: 'create_agent', outcome: 'ok', limit: 2000 });
        assert.equal(records.length, count, 'one audit entry for each agent');
        assert.equal(new Set(records.map((entry) => entry.arguments.name)).size, count);
        for (const id of acknowledged) {
          assert.ok(await store.agents.get(id), `${id} was acknowledged`);
          assert.equal(await store.versions.count({ where: { entityType: 'agent', entityId: id } }), 1);
        }
        await store.close();
      });
    }
    console.log(`${total} acknowledged agents in ${rounds} rounds, none lost`);
    assert.ok(total > 0);
  });
});
