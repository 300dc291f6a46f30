import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AbandonedRuns } from '../../tools/runs/abandoned-runs.ts';
import { withFolder } from '../support/child.ts';
import { openStoreIn } from '../support/store.ts';
import { writing } from '../support/writing.ts';

const RUN = {
  kind: 'chat' as const,
  status: 'running' as const,
  model: 'tiny',
  principal: { type: 'session', id: 'usr_one', name: 'One' },
  steps: 0,
  usage: { inputTokens: 0, outputTokens: 0 },
  accessKeys: ['admin'],
};

it('a run whose end the store did not take is ended by its process; those of others and those under way go on', async () => {
  await withFolder(async (folder) => {
    const store = await openStoreIn(folder);
    const { worker } = store.jobs;
    const own = { ...RUN, ...(worker !== undefined && { worker }) };
    const runs = writing(store).agentRuns;
    const [left, underWay, foreign] = [
      await runs.insert(own),
      await runs.insert(own),
      await runs.insert({ ...RUN, worker: 'another' }),
    ];
    const abandoned = new AbandonedRuns(store, { isUnderWay: (id) => id === underWay.id });
    const statuses = () =>
      Promise.all([left, underWay, foreign].map(async ({ id }) => (await store.agentRuns.read(id)).status));
    await abandoned.look();
    await abandoned.look();
    assert.deepEqual(await statuses(), ['running', 'running', 'running']);
    await abandoned.look();
    assert.deepEqual(await statuses(), ['failed', 'running', 'running']);
    assert.equal((await store.agentRuns.read(left.id)).error?.code, 'internal');
    await store.close();
  });
});
