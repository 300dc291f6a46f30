import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mustCall } from '../support/calls.ts';
import { type ServerProcess, startProcess, withFolder } from '../support/child.ts';
import { rounds } from '../support/full.ts';

const key = `ak_crash000_${'k'.repeat(40)}`;
const env = { BOOTSTRAP_API_KEY: key, LOG_LEVEL: 'silent' };

/** Reads and writes of 16 callers until so many were answered, while more are under way. */
async function calls(server: ServerProcess, most: number): Promise<{ readonly under: Promise<unknown> }> {
  let answered = 0;
  let enough = () => {};
  const reached = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const caller = async (own: number) => {
    for (let number = 0; ; number += 1) {
      const name = `skill ${server.process.pid} ${own} ${number}`;
      await mustCall(server, key, 'create_skill', { name, instructions: 'Once.' });
      await mustCall(server, key, 'list_skills', { limit: 1 });
      answered += 2;
      if (answered >= most) enough();
    }
  };
  const under = Promise.allSettled(Array.from({ length: 16 }, (_, own) => caller(own)));
  await Promise.race([reached, under]);
  return { under };
}

it('kill -9 under load leaves an audit log that is intact, start after start', async () => {
  await withFolder(async (folder) => {
    for (let round = 0; round < rounds(2, 6); round += 1) {
      const server = await startProcess(folder, env);
      const verdict = await mustCall(server, key, 'verify_audit', {});
      assert.deepEqual([verdict.intact, verdict.firstProblem], [true, undefined], `round ${round}`);
      const { id } = await mustCall(server, key, 'create_skill', { name: `gone ${round}`, instructions: 'Secret.' });
      await mustCall(server, key, 'purge_record', { entityType: 'skill', id });
      const { under } = await calls(server, 200);
      await server.stop('SIGKILL');
      await under;
    }
    const last = await startProcess(folder, env);
    const verdict = await mustCall(last, key, 'verify_audit', {});
    assert.deepEqual([verdict.intact, verdict.firstProblem], [true, undefined]);
    assert.ok(verdict.entries > 200);
    await last.stop('SIGTERM');
  });
});
