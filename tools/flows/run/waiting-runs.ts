import type { ApprovalRecord } from '../../../resources/approval.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import { type PeriodicTask, startLeaderTask } from '../../../store/periodic-task.ts';
import type { Readers, Store, Writers } from '../../../store/port.ts';
import { endApproval, isExpired, isSettled } from '../../core/registry/approvals.ts';
import { giveUp } from '../../runs/run-records.ts';
import { forEachRun } from './claim-run.ts';
import type { Clock } from './clock.ts';
import { CANCELLED, changed, type StepFailure } from './outcome.ts';

/** The same as soon as something is decided; this finds what expired, and what was decided while nobody listened. */
const LOOK_EVERY_MS = 5_000;

type Waited = NonNullable<NonNullable<FlowRunRecord['underWay']>['approval']>;

/** What the step of the run waits for. Of a call that its own call made, the step makes its own call again. */
export async function waitedFor(
  { approvals }: Pick<Readers, 'approvals'>,
  { id: runId }: FlowRunRecord,
  { tool, approvalId }: { readonly tool: string; readonly approvalId: string },
): Promise<Waited> {
  const found = await approvals.get(approvalId);
  const isOwn = found?.requestId === runId && found.door === 'flow' && found.tool === tool;
  return { id: approvalId, ...(!isOwn && { inside: true }) };
}

/** Why the call that waited is not made. Undefined if it can be, or what was decided about it says so itself. */
export async function lapsed(
  { approvals }: Pick<Readers, 'approvals'>,
  { id, inside }: Waited,
  { tool, now }: { readonly tool: string; readonly now: Date },
): Promise<StepFailure | undefined> {
  const found = inside ? undefined : await approvals.get(id);
  if (inside || (found && !isExpired(found, now))) return undefined;
  const message = found
    ? `Nobody said yes in time: the approval ${id} ended at ${found.expiresAt}, so ${tool} was not called.`
    : `The approval ${id} is gone, so ${tool} was not called.`;
  return { code: 'conflict', message, final: true };
}

/** Whether the run can go on, if only to fail. */
async function isDue({ underWay }: FlowRunRecord, { approvals }: Pick<Readers, 'approvals'>, now: Date) {
  return !underWay?.approval || isSettled({ approvals }, underWay.approval.id, now);
}

/** Takes the run for this process, if what it waits for was decided. Undefined if not, or another process did so first. */
export function claimWaiting(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  runId: string,
): Promise<FlowRunRecord | undefined> {
  const { worker } = store.jobs;
  return store.transaction(async (tx) => {
    const run = await tx.flowRuns.get(runId);
    if (run?.status !== 'waiting' || !(await isDue(run, tx, clock.now()))) return undefined;
    return tx.flowRuns.update(runId, { status: 'running', ...(worker !== undefined && { worker }) });
  });
}

interface Following {
  readonly store: Store;
  readonly clock: Clock;
  onFailure(cause: unknown): void;
}

/** Has waiting runs go on when what they wait for was decided. */
export function followDecisions({ store, clock, onFailure }: Following): PeriodicTask {
  const { flowRuns, approvals, jobs } = store;
  const goOn = (runId: string) => jobs.add('go_on', { runId }, { key: `go on ${runId}` });
  const lookFor = (decided: ReadonlySet<string>) =>
    forEachRun({ flowRuns }, 'waiting', async ({ id, underWay }) => {
      if (decided.has(underWay?.approval?.id ?? '')) await goOn(id);
    });
  const stop = store.onCommit(
    ({ changes }) => {
      const decided = changes.filter(({ record }) => isDecided(record as Partial<ApprovalRecord>));
      if (decided.length > 0) void lookFor(new Set(decided.map(({ record }) => record.id))).catch(onFailure);
    },
    ['approvals'],
  );
  const look = () =>
    forEachRun({ flowRuns }, 'waiting', async (run) => {
      if (await isDue(run, { approvals }, clock.now())) await goOn(run.id);
    });
  const looking = startLeaderTask(jobs, look, { onFailure, everyMs: LOOK_EVERY_MS });
  return {
    close() {
      stop();
      return looking.close();
    },
  };
}

/** Of those that the calls of flows wait for, `done` is over too. */
function isDecided({ status }: Partial<ApprovalRecord>): boolean {
  return status !== undefined && status !== 'waiting';
}

/** Ends a run that waits, and the approval that nobody needs any more. */
export async function cancelWaiting(
  tx: Pick<Writers, 'flowRuns' | 'agentRuns' | 'approvals'>,
  { id, steps, underWay }: FlowRunRecord,
  now: Date,
): Promise<FlowRunRecord> {
  const finishedAt = now.toISOString();
  const approval = underWay?.approval;
  if (approval && !approval.inside)
    await endApproval(tx, approval.id, 'The run of the flow that asked for it was cancelled.');
  const { records: agents } = await tx.agentRuns.find({ where: { flowRunId: id, status: 'waiting' }, limit: 100 });
  for (const each of agents) await giveUp(tx, each, now);
  return tx.flowRuns.update(id, {
    ...CANCELLED,
    finishedAt,
    underWay: null,
    steps: steps.map((step) =>
      step.status === 'waiting' ? changed(step, { status: 'failed', error: CANCELLED.error, finishedAt }) : step,
    ),
  });
}
