import type { Flow } from '../../resources/flow.ts';
import type { FlowRunRecord, FlowRunTrigger } from '../../resources/flow-run.ts';
import type { Readers, Writers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { ToolError } from '../core/errors.ts';
import { ANSWER_RETENTION_MS, type CallFingerprint, requireSameInput } from '../core/registry/idempotency.ts';
import { outgoingTrace } from '../core/telemetry/span.ts';

export const MOST_QUEUED = 100;
/** The largest number of runs that wait or are under way: of one owner, and of all. */
export const MOST_OPEN_OF_OWNER = 1000;
export const MOST_OPEN = 10_000;
export const DEEPEST_CAUSES = 3;
export const MOST_KEPT = 500;

export interface RunRequest {
  readonly trigger: FlowRunTrigger;
  readonly input: FlowRunRecord['input'];
  readonly causes: readonly string[];
  /** Everybody behind who has it begun. */
  readonly askedBy?: readonly string[] | undefined;
  readonly begun?: RunOrigin | undefined;
  readonly retry?: RetrySource | undefined;
}

export type RetrySource = Required<Pick<FlowRunRecord, 'retryOf'>> &
  Partial<Pick<FlowRunRecord, 'steps' | 'recordIds' | 'retriedRevision'>>;

type Runs = Pick<Writers, 'flowRuns'>;
type Owned = Runs & Owners;
type Owners = Pick<Readers, 'apiKeys' | 'capsules' | 'connectedApps'>;
/** The states of runs that have not ended. One that waits does so for a person, and is not active. */
export const OPEN = ['queued', 'running', 'waiting'];

export function flowProblem({ enabled, steps, agentId, id }: Flow): string | undefined {
  if (!enabled) return `The flow is disabled; update_flow with {"id": "${id}", "enabled": true} lets it run.`;
  if (steps?.length || agentId) return undefined;
  return 'The flow is a draft without steps or agent; give it some with update_flow.';
}

/** Why a run cannot continue from what it took over of an earlier one. Undefined if it can. */
export function retryProblem(
  { id, revision, runAs }: Flow,
  run: Pick<FlowRunRecord, 'runAs' | 'retryOf' | 'retriedRevision'>,
): string | undefined {
  if (run.retryOf === undefined) return undefined;
  // Only `runAs` and admins see the input and the outputs of a run.
  if (run.runAs.type !== runAs.type || run.runAs.id !== runAs.id) {
    return `The flow runs as somebody else since the earlier run; trigger_flow {"id": "${id}"} begins a new one.`;
  }
  if ((run.retriedRevision ?? revision) === revision) return undefined;
  return `The flow was changed since the earlier run; trigger_flow {"id": "${id}"} runs it as it is now.`;
}

/** Why no run begins for this chain of flows. Undefined if one does. */
export function causeProblem({ id }: Pick<Flow, 'id'>, causes: readonly string[]): string | undefined {
  if (causes.includes(id)) return 'A run of this flow led here; a flow does not cause runs of its own.';
  if (causes.length < DEEPEST_CAUSES) return undefined;
  return `Runs of ${DEEPEST_CAUSES} flows led here one after the other (${causes.join(', ')}); it ends here.`;
}

/** Puts a run at the end of the flow's queue. @throws ToolError (conflict) if the flow cannot run */
export async function queueRun(store: Owned, flow: Flow, wish: RunRequest): Promise<FlowRunRecord> {
  const cause = flowProblem(flow) ?? causeProblem(flow, wish.causes);
  const { runs, problem } = cause ? { runs: [], problem: cause } : await queueRuns(store, flow, [wish]);
  const [run] = runs;
  if (!run) throw new ToolError('conflict', problem);
  return run;
}

interface QueueOutcome {
  readonly runs: readonly FlowRunRecord[];
  readonly problem: string;
}

/** Puts runs at the end of the flow's queue, in this order: as many as there is room for. Their causes must have been looked at. */
export async function queueRuns(store: Owned, flow: Flow, wishes: readonly RunRequest[]): Promise<QueueOutcome> {
  const unable = flowProblem(flow);
  if (unable) return { runs: [], problem: unable };
  const ownerId = await ownerOf(flow.runAs, store);
  const { free, problem } = await roomOf(store, { flowId: flow.id, ownerId });
  const fitting = wishes.slice(0, free);
  const runs = fitting.length > 0 ? await insertRuns(store, flow, { status: 'queued', ownerId }, fitting) : [];
  return { runs, problem };
}

export async function ownerOf({ type, id }: Flow['runAs'], store: Owners): Promise<string> {
  const app = type === 'app' ? await store.connectedApps.get(id) : undefined;
  if (app?.userId !== undefined) return app.userId;
  const acting = type === 'api-key' ? await store.apiKeys.get(id) : undefined;
  const capsule = type === 'capsule' || app ? await store.capsules.get(app?.capsuleId ?? id) : undefined;
  return (acting ?? capsule)?.ownerId ?? id;
}

interface QueueKey {
  readonly flowId: string;
  readonly ownerId: string;
}

const NEXT = 'let some end, or cancel some with cancel_flow_run';

export async function queueProblem(
  { flowRuns }: Pick<Readers, 'flowRuns'>,
  flowId: string,
): Promise<string | undefined> {
  const queued = await flowRuns.count({ where: { flowId, status: 'queued' } });
  return queued >= MOST_QUEUED ? `${queued} runs of this flow wait already; ${NEXT}.` : undefined;
}

/** How many more runs of the flow may wait, and why no more than that. */
async function roomOf({ flowRuns }: Runs, { flowId, ownerId }: QueueKey) {
  const limits = [
    { most: MOST_QUEUED, where: { flowId, status: 'queued' }, runs: 'runs of this flow wait already' },
    {
      most: MOST_OPEN_OF_OWNER,
      where: { ownerId, status: OPEN },
      runs: 'runs of flows of the same owner wait or are under way',
    },
    { most: MOST_OPEN, where: { status: OPEN }, runs: 'runs of flows wait or are under way, which are the most' },
  ];
  let room = { free: Number.POSITIVE_INFINITY, problem: '' };
  for (const { most, where, runs } of limits) {
    const count = await flowRuns.count({ where });
    const free = Math.max(0, most - count);
    if (free < room.free) room = { free, problem: `${Math.max(most, count)} ${runs}; ${NEXT}.` };
    if (free === 0) break;
  }
  return room;
}

/** Stores that a run was due and why it did not begin. */
export async function refuseRun(store: Runs, flow: Flow, message: string, wish: RunRequest, now: Date): Promise<void> {
  const ended = { status: 'cancelled', error: { code: 'conflict', message }, finishedAt: now.toISOString() } as const;
  await insertRuns(store, flow, ended, [wish]);
}

async function insertRuns(
  store: Runs,
  { id: flowId, runAs }: Flow,
  state: Pick<FlowRunRecord, 'status' | 'error' | 'finishedAt' | 'ownerId'>,
  wishes: readonly RunRequest[],
): Promise<readonly FlowRunRecord[]> {
  await trimEndedRuns(store, flowId, wishes.length);
  const trace = outgoingTrace()?.traceparent;
  return store.flowRuns.insertAll(
    wishes.map(({ trigger, input, causes, askedBy, begun, retry }) => ({
      flowId,
      runAs,
      trigger,
      ...(!isNothing(input) && { input }),
      steps: [],
      plan: [],
      causes: [...causes],
      ...(askedBy?.length && { askedBy: [...askedBy] }),
      ...begun,
      ...(trace !== undefined && { trace }),
      ...retry,
      ...state,
    })),
  );
}

/** Templates find an empty object where there is no input. */
function isNothing(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input === undefined;
  return Object.keys(input).length === 0;
}

/** Deletes a few more ended runs than come, where there are more than are kept. */
async function trimEndedRuns({ flowRuns }: Runs, flowId: string, coming: number): Promise<void> {
  if ((await flowRuns.count({ where: { flowId } })) + coming <= MOST_KEPT) return;
  const { records } = await flowRuns.find({ where: { flowId }, order: 'oldest', limit: coming + 2 });
  await flowRuns.deleteAll(records.filter(hasEnded).map(({ id }) => id));
}

/** Also of runs of agents, which are never queued. */
export function hasEnded({ status }: { readonly status: string }): boolean {
  return !OPEN.includes(status);
}

export async function nextQueued({ flowRuns }: Pick<Readers, 'flowRuns'>, flowId: string) {
  return flowRuns.first({ where: { flowId, status: 'queued' }, order: 'oldest' });
}

/** Removes what runs hold of the record: the input and all outputs of runs that contain its id. Later steps find null in their place. */
export async function deleteOutputsAbout(store: Runs, id: string): Promise<void> {
  for (;;) {
    const { records } = await store.flowRuns.find({ where: { recordIds: id }, limit: 100 });
    if (records.length === 0) return;
    for (const { id: runId, steps } of records) {
      const bare = steps.map(({ input: _, output: __, ...step }) => step);
      await store.flowRuns.touch(runId, { steps: bare, input: null, underWay: null, recordIds: null });
    }
  }
}

/** What a run keeps of who began it, so that the same call made again finds it. */
export type RunOrigin = Pick<FlowRunRecord, 'begunBy' | 'begunWith'>;

interface RunTrigger {
  readonly principal: Principal;
  readonly repeat: CallFingerprint | undefined;
}

/** A step of another run names the attempt at it, others the key of their call. */
export function runOriginOf({ principal, repeat }: RunTrigger): RunOrigin {
  if (principal.type === 'flow') return { begunBy: principal.attempt };
  return repeat ? { begunBy: repeat.key, begunWith: repeat.inputHash } : {};
}

/** The run that an earlier call by the same attempt or key began, while its answer was not kept. @throws InputMismatch */
export async function earlierRun(
  { flowRuns }: Pick<Readers, 'flowRuns'>,
  { principal, repeat }: RunTrigger,
  now: Date,
): Promise<FlowRunRecord | undefined> {
  const { begunBy, begunWith } = runOriginOf({ principal, repeat });
  if (begunBy === undefined) return undefined;
  const isCall = begunWith !== undefined;
  const from = isCall ? new Date(now.getTime() - ANSWER_RETENTION_MS).toISOString() : undefined;
  const run = await flowRuns.first({ where: { begunBy }, from });
  if (run && isCall && repeat) requireSameInput(repeat, run.begunWith);
  return run;
}
