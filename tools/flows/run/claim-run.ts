import type { Flow } from '../../../resources/flow.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { Store, Transaction } from '../../../store/port.ts';
import { flowProblem, nextQueued, retryProblem } from '../run-queue.ts';
import type { Clock } from './clock.ts';
import { startedRun } from './start-run.ts';

export interface ClaimedRun {
  /** Absent if the run was cancelled instead, as its flow cannot run. */
  readonly begun?: { readonly flow: Flow; readonly run: FlowRunRecord };
}

interface ClaimDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Claims the oldest queued run of the flow for this process. Undefined if there is none, or it must wait for another run. The flow is read
 * in the same transaction, so that no run begins with an outdated or disabled flow.
 */
export function claimNext(
  { store, clock }: ClaimDeps,
  flowId: string,
  isBusyHere: boolean,
): Promise<ClaimedRun | undefined> {
  const { worker } = store.jobs;
  return store.transaction(async (tx) => {
    const run = await nextQueued(tx, flowId);
    if (!run) return undefined;
    const flow = await tx.flows.get(flowId);
    const message = flow ? (flowProblem(flow) ?? retryProblem(flow, run)) : 'The flow was deleted.';
    if (!flow || message !== undefined) {
      const error = { code: 'conflict', message: message ?? '' } as const;
      await tx.flowRuns.update(run.id, { status: 'cancelled', error, finishedAt: clock.now().toISOString() });
      return {};
    }
    const isBusy = isBusyHere || (worker !== undefined && (await isBusyAnywhere(flowId, tx)));
    if (flow.overlap !== 'allow' && isBusy) return undefined;
    return { begun: { flow, run: await tx.flowRuns.update(run.id, startedRun(flow, run, worker, clock.now())) } };
  });
}

/** The run, where it is under way and its process is gone. */
export async function orphanedRun({ flowRuns, jobs }: Store, runId: string): Promise<FlowRunRecord | undefined> {
  const run = await flowRuns.get(runId);
  return run?.status === 'running' && !(await jobs.isAlive(run.worker)) ? run : undefined;
}

/** Takes the run of a process that is gone for this one. Undefined if another process did so first. */
export function claimRun(store: Store, left: FlowRunRecord): Promise<FlowRunRecord | undefined> {
  return store.transaction(async (tx) => {
    const now = await tx.flowRuns.get(left.id);
    if (now?.status !== 'running' || now.worker !== left.worker) return undefined;
    return tx.flowRuns.update(left.id, { worker: store.jobs.worker });
  });
}

async function isBusyAnywhere(flowId: string, { flowRuns }: Transaction): Promise<boolean> {
  return (await flowRuns.count({ where: { flowId, status: 'running' } })) > 0;
}
