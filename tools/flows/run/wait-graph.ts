import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { Readers, Store } from '../../../store/port.ts';

/** A run whose end a caller waits for. */
export interface Awaited {
  readonly id: string;
  /** The run that waits. Undefined if the caller is not a run. */
  readonly by: string | undefined;
}

type Waiting = Awaited & { readonly by: string };

/** Stores that one run waits for another. Resolves with true where it would wait for itself, by way of others. */
export function enterWait(store: Store, { by, id }: Waiting): Promise<boolean> {
  return store.transaction(async (tx) => {
    if (!(await tx.flowRuns.get(by))) return false; // the run was purged
    await tx.flowRuns.touch(by, { awaits: id });
    const open = new Set([by]);
    for (const each of open) {
      const before = await runsBefore(tx, (await tx.flowRuns.get(each))?.awaits);
      if (before.includes(by)) return true;
      for (const next of before) open.add(next);
    }
    return false;
  });
}

export async function leaveWait(store: Store, { by, id }: Waiting): Promise<void> {
  await store.transaction(async (tx) => {
    if ((await tx.flowRuns.get(by))?.awaits === id) await tx.flowRuns.touch(by, { awaits: null });
  });
}

type Runs = Pick<Readers, 'flowRuns' | 'flows'>;

/** The running runs that must continue before this one can end: itself, or the runs of its flow that are queued before it. */
async function runsBefore({ flowRuns, flows }: Runs, id: string | undefined): Promise<readonly string[]> {
  const run: FlowRunRecord | undefined = id === undefined ? undefined : await flowRuns.get(id);
  if (run?.status === 'running') return [run.id];
  if (run?.status !== 'queued' || (await flows.get(run.flowId))?.overlap === 'allow') return [];
  const { records } = await flowRuns.find({ where: { flowId: run.flowId, status: 'running' }, limit: 100 });
  return records.map((each) => each.id);
}
