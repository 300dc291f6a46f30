import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import { type PeriodicTask, startLeaderTask } from '../../../store/periodic-task.ts';
import type { Position, Readers, Store } from '../../../store/port.ts';

const LOOK_EVERY_MS = 5_000;
const QUEUES_EVERY = 6;

export async function forEachRun(
  { flowRuns }: Pick<Readers, 'flowRuns'>,
  status: FlowRunRecord['status'],
  see: (run: FlowRunRecord) => void | Promise<void>,
): Promise<void> {
  let after: Position | undefined;
  do {
    const page = await flowRuns.find({ where: { status }, order: 'oldest', limit: 200, after });
    for (const run of page.records) await see(run);
    after = page.next ?? undefined;
  } while (after);
}

/** Has runs of processes that are gone taken over, and queues looked at whose process ended before it said that a run is in them. */
export function startRecovery({ flowRuns, jobs }: Store, onFailure: (cause: unknown) => void): PeriodicTask {
  let turn = 0;
  const work = async () => {
    const lost = await lostRuns({ flowRuns, jobs });
    for (const runId of lost) await jobs.add('resume_run', { runId }, { key: runId });
    const everything = lost.length > 0 || turn % QUEUES_EVERY === 0;
    turn += 1;
    if (everything) await lookAtQueues({ flowRuns, jobs });
  };
  return startLeaderTask(jobs, work, { onFailure, everyMs: LOOK_EVERY_MS });
}

type Part = Pick<Store, 'flowRuns' | 'jobs'>;

async function lostRuns({ flowRuns, jobs }: Part): Promise<string[]> {
  const alive = new Map<string | undefined, boolean>();
  const lost: string[] = [];
  await forEachRun({ flowRuns }, 'running', async ({ id, worker }) => {
    const isAlive = alive.get(worker) ?? (await jobs.isAlive(worker));
    alive.set(worker, isAlive);
    if (!isAlive) lost.push(id);
  });
  return lost;
}

async function lookAtQueues({ flowRuns, jobs }: Part): Promise<void> {
  const flows = new Set<string>();
  await forEachRun({ flowRuns }, 'queued', ({ flowId }) => void flows.add(flowId));
  for (const flowId of flows) await jobs.add('look_at_flow', { flowId }, { key: flowId });
}
