import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { personIn } from '../support/deciders.ts';
import { toolsThatDie } from '../support/dying-tools.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { nodeArgs } from '../support/node-args.ts';
import { pluck } from '../support/pluck.ts';
import { dataFolder, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';

const CHILD = fileURLToPath(new URL('flow-approval-crash-child.ts', import.meta.url));

/** The signal that ended the process. */
function run(...args: readonly string[]): Promise<string | null> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...nodeArgs(CHILD), ...args], (error, _, stderr) => {
      if (error && !error.signal) reject(new Error(stderr));
      else resolve(error?.signal ?? null);
    });
  });
}

/** What became of a run whose step waits for a person and whose process was killed, after another server has started. */
async function crashIn(tool: string, when: string) {
  const folder = await dataFolder();
  try {
    assert.equal(await run(folder, tool, when), 'SIGKILL');
    const world = await FlowWorld.open({ folder, tools: toolsThatDie(false) });
    try {
      const [{ id, steps }] = (await world.store.flowRuns.find({ limit: 1 })).records as [never];
      const isOver = async () => !['running', 'waiting'].includes((await world.store.flowRuns.read(id)).status);
      if (when === 'waiting') {
        const { approvalId } = steps[1] as { approvalId: string };
        await world.must('decide_approval', { id: approvalId, decision: 'approve' }, await personIn(world, 'carl'));
      }
      await until(isOver);
      const over = await world.store.flowRuns.read(id);
      const made = pluck((await world.must('list_skills', { limit: 100 })).data, 'name').sort();
      const { status } = await world.store.approvals.read(over.steps[1]?.approvalId ?? '');
      return { run: over.status, error: over.error?.code, approval: status, made };
    } finally {
      await world.close();
    }
  } finally {
    await removeFolder(folder);
  }
}

const ALL = ['first', 'second', 'third'];

describe('a run that waits for a person and whose process kill -9 ended', { concurrency: 2 }, () => {
  for (const [tool, when] of [
    ['dies_before_commit', 'waiting'],
    ['dies_before_commit', 'decided'],
    ['dies_between_steps', 'decided'],
    ['dies_before_commit', 'running'],
    ['dies_after_commit', 'running'],
  ] as const) {
    it(`goes on and has the call made once: ${tool} when ${when}`, async () => {
      const found = await crashIn(tool, when);
      assert.deepEqual(found, { run: 'succeeded', error: undefined, approval: 'done', made: ALL });
    });
  }

  it('fails and says that nobody knows, where the call takes several steps and was in the middle', async () => {
    const found = await crashIn('dies_between_steps', 'running');
    assert.deepEqual(found, { run: 'failed', error: 'interrupted', approval: 'unknown', made: ['first', 'second'] });
  });
});
