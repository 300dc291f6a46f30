import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { FlowRun } from '../../resources/flow-run.ts';
import { toolsThatDie } from '../support/dying-tools.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { nodeArgs } from '../support/node-args.ts';
import { pluck } from '../support/pluck.ts';

const CHILD = fileURLToPath(new URL('flow-crash-child.ts', import.meta.url));

/** The signal that ended the process. */
function run(...args: readonly string[]): Promise<string | null> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...nodeArgs(CHILD), ...args], (error, _, stderr) => {
      if (error && error.signal === undefined) reject(new Error(stderr));
      else resolve(error?.signal ?? null);
    });
  });
}

/** The outcome of a run whose second step of three was interrupted by kill -9, after another server has started. */
async function crashIn(tool: string): Promise<{ readonly run: FlowRun; readonly names: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-'));
  try {
    assert.equal(await run(folder, tool), 'SIGKILL');
    const world = await FlowWorld.open({ folder, tools: toolsThatDie(false) });
    const { records } = await world.store.flowRuns.find({ limit: 10 });
    assert.equal(records.length, 1);
    const [{ id } = { id: '' }] = records;
    await world.engine.ended({ id, by: undefined }, undefined);
    const ended = await world.must('get_flow_run', { id });
    const skills = await world.must('list_skills', { limit: 100 });
    await world.close();
    return { run: ended, names: pluck(skills.data, 'name') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const statuses = ({ steps }: FlowRun) => steps.map(({ status }) => status);

describe('a run that kill -9 ended in its second step', { concurrency: 2 }, () => {
  for (const tool of ['dies_reading', 'dies_before_commit', 'dies_after_commit', 'dies_waiting']) {
    it(`goes on after ${tool}, with nothing made twice`, async () => {
      const { run, names } = await crashIn(tool);
      assert.equal(run.status, 'succeeded');
      assert.deepEqual(statuses(run), ['succeeded', 'succeeded', 'succeeded']);
      assert.deepEqual([...names].sort(), tool === 'dies_reading' ? ['first', 'third'] : ['first', 'second', 'third']);
    });
  }

  it('ends, and says that nobody knows, where the step was one of several changes', async () => {
    const { run, names } = await crashIn('dies_between_steps');
    assert.equal(run.status, 'failed');
    assert.deepEqual(statuses(run), ['succeeded', 'failed', 'pending']);
    assert.match(run.error?.message ?? '', /^Step middle: .*whether it took effect is not known/);
    assert.deepEqual([...names].sort(), ['first', 'second']);
  });
});
