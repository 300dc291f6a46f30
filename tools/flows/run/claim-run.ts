import type { Flow, FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import { pagesOf } from '../../../store/pages.ts';
import { type PeriodicTask, startLeaderTask } from '../../../store/periodic-task.ts';
import type { Readers, Store, Transaction } from '../../../store/port.ts';
import { isTemplate } from '../expressions.ts';
import { flowProblem, nextQueued, retryProblem } from '../run-queue.ts';
import type { Clock } from './clock.ts';

export interface ClaimedRun {
  /** Absent if the run was cancelled instead, as its flow cannot run. */
  readonly begun?: { readonly flow: Flow; readonly run: FlowRunRecord };
}

interface ClaimDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** Claims the oldest queued run of the flow as it is now. Undefined if there is none, or it must wait for another run. */
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
    const isBusy = isBusyHere || (await isBusyAnywhere(flowId, tx, worker !== undefined));
    if (flow.overlap !== 'allow' && isBusy) return undefined;
    return { begun: { flow, run: await tx.flowRuns.update(run.id, startedRun(flow, run, worker, clock.now())) } };
  });
}

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

async function isBusyAnywhere(flowId: string, { flowRuns }: Transaction, isShared: boolean): Promise<boolean> {
  const status = isShared ? ['running', 'waiting'] : 'waiting';
  return (await flowRuns.count({ where: { flowId, status } })) > 0;
}

/** Another process continues the run, because this one was taken for gone. */
export class RunLost extends Error {
  constructor(runId: string) {
    super(`Another process continues the run ${runId}.`);
  }
}

/** The run as it is now, for a change by the process that runs it. @throws RunLost */
export async function ownRun({ flowRuns }: Pick<Readers, 'flowRuns'>, run: FlowRunRecord): Promise<FlowRunRecord> {
  const current = (await flowRuns.get(run.id)) ?? run;
  if (current.worker !== run.worker) throw new RunLost(run.id);
  return current;
}

/** What a run is made of from its beginning on, whatever becomes of its flow. Steps that it took over from an earlier run stay as they are. */
function startedRun(
  flow: Flow,
  { steps: done }: Pick<FlowRunRecord, 'steps'>,
  worker: string | undefined,
  now: Date,
): Partial<FlowRunRecord> {
  const plan = planOf(flow);
  const steps = plan.map(
    ({ id, tool }) => done.find((step) => step.id === id) ?? { id, tool, status: 'pending' as const, attempts: 0 },
  );
  const { revision: flowRevision, runAs } = flow;
  return {
    status: 'running',
    flowRevision,
    runAs,
    plan,
    steps,
    startedAt: now.toISOString(),
    ...(worker !== undefined && { worker }),
  };
}

/** The steps of a run: of a flow with an agent, one that invokes it. The prompt is always a text, also where it is a single output. */
export function planOf({ steps, agentId, prompt = '{{ input }}' }: Flow): FlowStep[] {
  if (agentId === undefined) return steps ?? [];
  const retry = { attempts: 1, delayMs: 0 };
  const input = isTemplate(prompt) ? `{% if true %}${prompt}{% endif %}` : prompt;
  return [{ id: 'agent', tool: 'invoke_agent', arguments: { agent: agentId, input }, onError: 'stop', retry }];
}

const LOOK_EVERY_MS = 5_000;
const QUEUES_EVERY = 6;

export async function forEachRun(
  { flowRuns }: Pick<Readers, 'flowRuns'>,
  status: FlowRunRecord['status'],
  see: (run: FlowRunRecord) => void | Promise<void>,
): Promise<void> {
  for await (const page of pagesOf(flowRuns, { where: { status }, order: 'oldest', limit: 200 }))
    for (const run of page) await see(run);
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
