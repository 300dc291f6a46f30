import type { Agent } from '../../resources/agent.ts';
import type { AgentRun, AgentRunRecord, WaitingCall } from '../../resources/agent-run.ts';
import type { ThreadRecord } from '../../resources/thread.ts';
import { pagesOf } from '../../store/pages.ts';
import { type PeriodicTask, startLeaderTask } from '../../store/periodic-task.ts';
import type { Store, Writers } from '../../store/port.ts';
import { RunEnded, type RunOutcome, type RunTrace } from '../agents/exports.ts';
import { authorOf, capsuleIn, chainOf, type Principal } from '../core/access/principal.ts';
import { makerKeyOf, ownAccessKeys } from '../core/access/visibility.ts';
import { type ToolError, toToolError } from '../core/errors.ts';
import { NO_TOKENS } from '../core/models/token-usage.ts';
import { credentialRef, endApproval } from '../core/registry/approvals.ts';
import type { SteppingContext } from '../core/registry/context.ts';
import { isStoredError } from '../core/registry/idempotency.ts';

type Runs = Pick<Writers, 'agentRuns'>;

/** What waited is from now on the business of the run that goes on. */
export async function handOver(
  { agentRuns }: Runs,
  { id, status, waitsFor }: AgentRunRecord,
  now: Date,
): Promise<void> {
  if (!waitsFor) return;
  const ended = status === 'waiting' ? { status: 'succeeded' as const, finishedAt: now.toISOString() } : {};
  await agentRuns.update(id, { ...ended, waitsFor: null, resumesAs: null });
}

/** What a run's record says that waits for a person. */
export function waiting({ stopReason, waiting: calls = [] }: RunOutcome, trace: RunTrace, caller: Principal) {
  const resumesAs = credentialRef(caller);
  return { ...trace.state, status: 'waiting' as const, stopReason, waitsFor: [...calls], resumesAs };
}

type RunsAndApprovals = Pick<Writers, 'agentRuns' | 'approvals'>;

/** Stores that the run waits, unless it was cancelled or ended in the meantime; then nothing that it asked for is made. */
export async function pauseRun(
  store: RunsAndApprovals,
  { id }: Pick<AgentRun, 'id'>,
  paused: ReturnType<typeof waiting>,
  now: Date,
): Promise<AgentRunRecord> {
  const run = await store.agentRuns.read(id);
  if (run.status === 'running' && !run.cancelAsked) return store.agentRuns.update(id, paused);
  if (run.status === 'running') return giveUp(store, { ...run, ...paused }, now);
  await endAsked(store, paused, now);
  return run;
}

interface AnsweredCall {
  readonly call: WaitingCall;
  readonly trace: RunTrace;
  readonly now: Date;
}

/** Notes that one of the calls that waited has its answer. A run that it began and that did not go on ends. */
export async function noteAnswered(store: RunsAndApprovals, id: string, answered: AnsweredCall): Promise<void> {
  const { call, trace, now } = answered;
  const { waitsFor = [] } = (await store.agentRuns.get(id)) ?? {};
  const left = waitsFor.filter(({ toolCallId }) => toolCallId !== call.toolCallId);
  await store.agentRuns.touch(id, { ...trace.state, waitsFor: left.length > 0 ? left : null });
  await endInner(store, [call], now);
}

/** Ends a run that waits, and what it asked a person for. */
export async function giveUp(store: RunsAndApprovals, run: AgentRunRecord, now: Date): Promise<AgentRunRecord> {
  const { id } = run;
  await endAsked(store, run, now);
  const error = { code: 'unavailable', message: 'The run was cancelled.' } as const;
  return store.agentRuns.update(id, { status: 'cancelled', error, waitsFor: null, finishedAt: now.toISOString() });
}

async function endAsked(
  store: RunsAndApprovals,
  { waitsFor = [] }: Pick<AgentRunRecord, 'waitsFor'>,
  now: Date,
): Promise<void> {
  const problem = 'The run of the agent that asked for it was cancelled.';
  for (const { approvalId, inner } of waitsFor)
    for (const id of [approvalId, inner?.approvalId]) if (id !== undefined) await endApproval(store, id, problem);
  await endInner(store, waitsFor, now);
}

/** Ends the runs that the calls began and that still wait. */
export async function endInner(
  store: RunsAndApprovals,
  calls: readonly Pick<WaitingCall, 'inner'>[] = [],
  now: Date,
): Promise<void> {
  for (const { inner } of calls) {
    const run = inner && (await store.agentRuns.get(inner.runId));
    if (run?.status === 'waiting') await giveUp(store, run, now);
  }
}

/** Longer than a run can continue after its time is over. */
const GRACE_MS = 60_000;

interface RunOrigin {
  readonly kind: AgentRun['kind'];
  readonly agent: Agent | undefined;
  readonly model: string;
  /** What its call said of models. */
  readonly chosen?: {
    readonly model?: string | undefined;
    readonly fallbackModels?: readonly string[] | undefined;
    readonly maxTokens?: number | undefined;
  };
  readonly thread?: Pick<ThreadRecord, 'id' | 'accessKeys'>;
  /** The run whose work it finishes. */
  readonly continues?: string | undefined;
  /** What a person has decided since that one waited, and as whom it goes on. */
  readonly waitsFor?: AgentRunRecord['waitsFor'];
  readonly resumesAs?: AgentRunRecord['resumesAs'];
}

type Asking = Pick<SteppingContext<unknown, never>, 'principal' | 'door' | 'requestId' | 'server' | 'repeat'>;

/** Stores that a run begins. It is visible to those who see its thread, or without a thread to its caller. */
export function beginRun(
  { agentRuns }: Runs,
  { kind, agent, model, chosen = {}, thread, continues, waitsFor, resumesAs }: RunOrigin,
  asking: Asking,
) {
  const { principal, door, requestId, server, repeat } = asking;
  const behind = chainOf(principal);
  const all = [principal, ...behind];
  const capsuleId = capsuleIn(principal)?.id;
  const appId = all.find(({ type }) => type === 'app')?.id;
  const chosenModels = {
    ...(chosen.model !== undefined && { model: chosen.model }),
    ...(chosen.fallbackModels && { fallbackModels: [...chosen.fallbackModels] }),
    ...(chosen.maxTokens !== undefined && { maxTokens: chosen.maxTokens }),
  };
  const flowRunId = all.find(({ type }) => type === 'flow')?.runId;
  return agentRuns.insert({
    kind,
    status: 'running',
    ...(agent && { agentId: agent.id, agentRevision: agent.revision }),
    ...(thread && { threadId: thread.id }),
    ...(server.worker !== undefined && { worker: server.worker }),
    ...(repeat && { begunBy: repeat.key, begunWith: repeat.inputHash }),
    ...(continues !== undefined && { continues }),
    ...(waitsFor && { waitsFor }),
    ...(resumesAs && { resumesAs }),
    ...(Object.keys(chosenModels).length > 0 && { chosenModels }),
    model,
    principal: authorOf(principal),
    ...(behind.length > 0 && { onBehalfOf: behind.map(authorOf) }),
    door,
    requestId,
    ...(capsuleId !== undefined && { capsuleId }),
    ...(appId !== undefined && { appId }),
    ...(flowRunId !== undefined && { flowRunId }),
    steps: 0,
    usage: NO_TOKENS,
    accessKeys: thread?.accessKeys ?? ownAccessKeys(principal),
    askers: [...new Set(all.map(({ id }) => id))],
    makerKey: makerKeyOf(principal),
  });
}

/** Stores what the run did so far, so that a crash leaves a trace. It counts as no change. */
export function saveTrace({ agentRuns }: Runs, { id }: AgentRun, trace: RunTrace): Promise<AgentRun> {
  return agentRuns.touch(id, trace.state);
}

/** The run that is under way in a thread, if any. A run that must have ended long ago does not count. */
export async function runningIn({ agentRuns }: Runs, threadId: string, runMs: number, now: Date) {
  const { records } = await agentRuns.find({ where: { threadId, status: 'running' }, limit: 10 });
  for (const lost of records.filter((run) => isLost(run, runMs, now))) await agentRuns.update(lost.id, lostRun(now));
  return records.find((run) => !isLost(run, runMs, now));
}

/** Whether a run that nobody has ended must have ended long ago. */
export function isLost({ createdAt }: Pick<AgentRun, 'createdAt'>, runMs: number, now: Date): boolean {
  return createdAt < new Date(now.getTime() - runMs - GRACE_MS).toISOString();
}

export function succeeded({ stopReason }: RunOutcome, trace: RunTrace, now: Date) {
  return { ...trace.state, status: 'succeeded' as const, stopReason, finishedAt: now.toISOString() };
}

/** What a failed run's record says, and the error for the caller. */
export function failed(thrown: unknown, trace: RunTrace, now: Date) {
  const ended = thrown instanceof RunEnded ? thrown : undefined;
  const error: ToolError = ended?.error ?? toToolError(thrown);
  const { code, message } = error;
  const status = ended?.status ?? ('failed' as const);
  const cutOff = !ended && !isStoredError(code) && ({ cutOff: true } as const);
  const change = { ...trace.state, status, error: { code, message }, ...cutOff, finishedAt: now.toISOString() };
  return { error, change, unfinished: ended?.unfinished ?? '' };
}

export function lostRun(now: Date, message = 'The server ended before the run did.') {
  const error = { code: 'internal' as const, message };
  return { status: 'failed' as const, error, cutOff: true, finishedAt: now.toISOString() };
}

type Ending = ReturnType<typeof failed>['change'] | ReturnType<typeof lostRun>;

/** Ends the run, unless that was stored already and only the answer to it got lost. One that was cancelled makes no call any more that a person said yes to. */
export async function endRun(store: RunsAndApprovals, id: string, change: Ending): Promise<void> {
  const run = await store.agentRuns.get(id);
  if (run?.status !== 'running') return;
  const isGivenUp = run.cancelAsked && run.waitsFor;
  if (isGivenUp) await endAsked(store, run, new Date(change.finishedAt));
  await store.agentRuns.update(id, { ...change, ...(isGivenUp && { waitsFor: null }) });
}

/** How often one process looks for runs whose process is gone. */
const LOOK_EVERY_MS = 5_000;

/** Marks runs of dead processes as failed: before a server begins to serve and, where several share the store, while it does. */
export async function startSettling(
  store: Store,
  onFailure: (cause: unknown) => void,
): Promise<PeriodicTask | undefined> {
  await settleRuns(store);
  if (store.jobs.worker === undefined) return undefined;
  return startLeaderTask(store.jobs, () => settleRuns(store), { onFailure, everyMs: LOOK_EVERY_MS });
}

async function settleRuns(store: Store): Promise<void> {
  const { agentRuns, jobs } = store;
  for await (const runs of pagesOf(agentRuns, { where: { status: 'running' }, order: 'oldest', limit: 500 })) {
    const lost: AgentRun[] = [];
    for (const run of runs) if (!(await jobs.isAlive(run.worker))) lost.push(run);
    if (lost.length === 0) continue;
    await store.transaction(async (tx) => {
      for (const { id } of lost) await endRun(tx, id, lostRun(new Date()));
    });
  }
}

/** What tools need to know of the runs of agents that are under way. */
export interface AgentRuns {
  /** Calls `end` when somebody wants the run to end, until the returned function is called. */
  watch(runId: string, end: () => void): () => void;
  /** Whether this process runs it. */
  isUnderWay(runId: string): boolean;
}

declare module '../core/registry/context.ts' {
  interface ServerContext {
    /** Absent if nobody can end runs, as in a registry of tests. */
    readonly agentRuns?: AgentRuns;
  }
}

/** Ends runs of this process that somebody wants to end, in whichever process the wish was stored. */
export class RunningRuns implements AgentRuns {
  readonly #ends = new Map<string, () => void>();

  constructor(store: Pick<Store, 'onCommit'>) {
    store.onCommit(
      ({ changes }) => {
        for (const { record } of changes) {
          if ('cancelAsked' in record && record.cancelAsked) this.#ends.get(record.id)?.();
        }
      },
      ['agentRuns'],
    );
  }

  watch(runId: string, end: () => void): () => void {
    this.#ends.set(runId, end);
    return () => this.#ends.delete(runId);
  }

  isUnderWay(runId: string): boolean {
    return this.#ends.has(runId);
  }
}
