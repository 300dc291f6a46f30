import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ApprovalWorld, catalogWith } from '../support/approval-world.ts';
import { toolsThatDie } from '../support/dying-tools.ts';
import { nodeArgs } from '../support/node-args.ts';
import { registryOn } from '../support/registry.ts';
import { dataFolder, openStoreIn, removeFolder, storeOfRun } from '../support/store.ts';
import { until } from '../support/until.ts';

const CHILD = fileURLToPath(new URL('approval-crash-child.ts', import.meta.url));

function run(...args: readonly string[]): Promise<string | null> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...nodeArgs(CHILD), ...args], (error, _, stderr) => {
      if (error && !error.signal) reject(new Error(stderr));
      else resolve(error?.signal ?? null);
    });
  });
}

/** What became of an approved call whose process was killed, after two other processes have looked. */
async function crashIn(tool: string, when = 'running') {
  const folder = await dataFolder();
  try {
    assert.equal(await run(folder, storeOfRun, tool, when), 'SIGKILL');
    const store = await openStoreIn(folder);
    try {
      const world = new ApprovalWorld(store, registryOn(store, { catalog: catalogWith(toolsThatDie(false)) }));
      const [first] = (await store.approvals.find({ limit: 1 })).records;
      const isOver = async () => {
        await world.calls().look();
        return ['done', 'unknown'].includes((await store.approvals.read(first?.id ?? '')).status);
      };
      await until(isOver); // the dead process may hold the call for some seconds
      await world.beside(toolsThatDie(false)).calls().look();
      const approval = await store.approvals.read(first?.id ?? '');
      const caller = await world.as('api-key', approval.by.id);
      const again = await world.registry.codeOf(caller, tool, {});
      return { status: approval.status, again, made: await store.skills.count({ where: { name: 'second' } }) };
    } finally {
      await store.close();
    }
  } finally {
    await removeFolder(folder);
  }
}

describe('an approved call whose process kill -9 ended', { concurrency: 2 }, () => {
  for (const when of ['decided', 'running']) {
    for (const tool of ['dies_reading', 'dies_before_commit', 'dies_after_commit']) {
      it(`runs exactly once: ${tool} when ${when}`, async () => {
        const made = tool === 'dies_reading' ? 0 : 1;
        assert.deepEqual(await crashIn(tool, when), { status: 'done', again: 'ok', made });
      });
    }
  }

  it('runs once where it had not begun, and else says that nobody knows, where it takes several steps', async () => {
    assert.deepEqual(await crashIn('dies_between_steps', 'decided'), { status: 'done', again: 'ok', made: 1 });
    assert.deepEqual(await crashIn('dies_between_steps'), { status: 'unknown', again: 'interrupted', made: 1 });
  });
});
