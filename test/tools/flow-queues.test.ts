import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FlowRunRecord } from '../../resources/flow-run.ts';
import { defineTool } from '../../tools/core/registry/define-tool.ts';
import { startRecovery } from '../../tools/flows/run/claim-run.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { dataFolder, openStoreIn, removeFolder } from '../support/store.ts';
import { testTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';

const runAs = { type: 'session', id: 'usr_ann', name: 'Ann' } as const;
const trigger = { kind: 'manual', by: runAs } as const;
const onFailure = (cause: unknown) => assert.fail(String(cause));
const run = (flowId: string, status: FlowRunRecord['status']) => ({
  ...{ flowId, runAs, trigger, status },
  ...{ steps: [], plan: [], causes: [], ownerId: runAs.id },
});

describe('the runs of a flow', () => {
  it('that wait stay where the oldest are trimmed, however old they are', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // Else it could have ended, and be trimmed, before it is looked for.
    const holds = defineTool({ ...testTool, name: 'holds', handler: () => held.then(() => ({ ok: true })) });
    const world = await FlowWorld.open({ tools: [holds] });
    const { id } = await world.flow({ steps: [{ id: 'a', tool: 'holds', arguments: {} }] });
    const [waiting] = await world.store.transaction((tx) => tx.flowRuns.insertAll([run(id, 'queued')]));
    const ended = Array.from({ length: 500 }, () => run(id, 'succeeded'));
    await world.store.transaction((tx) => tx.flowRuns.insertAll(ended));
    await world.must('trigger_flow', { id });
    assert.ok(waiting && (await world.store.flowRuns.get(waiting.id)), 'it was to run yet');
    assert.ok((await world.store.flowRuns.count({ where: { flowId: id } })) <= 501);
    release();
  });

  it('that wait are found also where no run was lost with the process that said so', async () => {
    const folder = await dataFolder();
    const store = await openStoreIn(folder);
    await store.transaction((tx) => tx.flowRuns.insertAll([run('flw_lost', 'queued')]));
    const looked: unknown[] = [];
    const stop = store.jobs.serve({ look_at_flow: async ({ flowId }) => void looked.push(flowId) }, onFailure);
    const recovery = startRecovery(store, onFailure);
    await until(() => looked.includes('flw_lost'));
    await recovery.close();
    await stop();
    await store.close();
    await removeFolder(folder);
  });
});
