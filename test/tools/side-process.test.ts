import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Busy, SideProcess } from '../../tools/core/side-process/side-process.ts';

const module = new URL('./side-process-jobs.ts', import.meta.url);
const patient = 30_000;

describe('a side process', () => {
  it('ends what takes too long or too much memory, and goes on with the next', async () => {
    const apart = new SideProcess({ mostMegabytes: 64, mostWaiting: 10 });
    const run = (name: string, args: unknown[], timeoutMs: number) =>
      apart.run({ module, name, args, timeoutMs, caller: 'a' });
    const outcomes = await Promise.all([
      run('add', [1, 2], patient),
      run('spin', [], 20),
      run('add', [3, 4], patient),
      run('hoard', [], patient),
      run('fail', [], patient),
      run('add', [5, 6], patient),
    ]);
    assert.deepEqual(
      outcomes.map(({ ms: _, ...outcome }) => outcome),
      [
        { value: 3 },
        { ended: 'it takes more than 20 ms' },
        { value: 7 },
        { ended: 'it takes more than 64 MB of memory' },
        { thrown: 'It fails.' },
        { value: 11 },
      ],
    );
    assert.ok(outcomes.every(({ ms }) => ms >= 0));
  });

  it('refuses more jobs than may wait', async () => {
    const apart = new SideProcess({ mostMegabytes: 64, mostWaiting: 1 });
    const job = { module, name: 'add', args: [1, 1], timeoutMs: patient, caller: 'a' };
    const taken = [apart.run(job), apart.run(job)];
    await assert.rejects(apart.run(job), Busy);
    assert.equal((await Promise.all(taken)).length, 2);
  });

  it('does a job of each caller in turn, and refuses only the caller who has too many', async () => {
    const apart = new SideProcess({ mostMegabytes: 64, mostWaiting: 3 });
    const done: string[] = [];
    const run = async (caller: string) => {
      await apart.run({ module, name: 'add', args: [1, 1], timeoutMs: patient, caller });
      done.push(caller);
    };
    const greedy = Array.from({ length: 4 }, () => run('greedy'));
    await assert.rejects(run('greedy'), Busy);
    await Promise.all([...greedy, run('other')]);
    assert.deepEqual(done, ['greedy', 'greedy', 'other', 'greedy', 'greedy']);
  });
});
