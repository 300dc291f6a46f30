import { canonicalize } from 'json-canonicalize';
import { z } from 'zod';
import { pageOf, paging, recordId } from '../../resources/fields.ts';
import { type Flow, flowStep } from '../../resources/flow.ts';
import {
  type FlowRun,
  type FlowRunRecord,
  type FlowRunStep,
  flowRun,
  flowRunStatus,
} from '../../resources/flow-run.ts';
import { orNameOf, refTo } from '../../resources/markers.ts';
import type { Readers, Writers } from '../../store/port.ts';
import { requireShallow } from '../core/access/agent-principal.ts';
import { behind } from '../core/access/ask-first.ts';
import { NAME } from '../core/access/guarded-tool.ts';
import { authorOf } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { ToolError } from '../core/errors.ts';
import { type Caller, seesAllIn } from '../core/history/withheld.ts';
import { approvalPage } from '../core/registry/approvals.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { CREATES, DELETES, defineTool, type Fail, READS } from '../core/registry/define-tool.ts';
import { LARGEST_PAGE, listPage } from '../core/registry/paging.ts';
import { planOf } from './run/claim-run.ts';
import { causesOf, runOf } from './run/triggers.ts';
import { cancelWaiting } from './run/waiting-runs.ts';
import { isRunAs } from './run-as.ts';
import { earlierRun, hasEnded, queueRun, type RetrySource, retryProblem, runOriginOf } from './run-queue.ts';

const runId = refTo('flow-run', recordId).describe('Run id (`run_…`), see list_flow_runs.');

/** Each run stores its input, and many runs are kept, so inputs are limited. */
export const LARGEST_INPUT = 256 * 1024;

export function isSmallInput(input: unknown): boolean {
  return (JSON.stringify(input)?.length ?? 0) <= LARGEST_INPUT;
}

const triggerFlow = defineTool({
  name: 'trigger_flow',
  title: 'Trigger flow',
  description:
    'Run a flow now, with the rights of its `runAs`, not yours. Returns the queued run; with wait=true the finished one, or one that waits for an approval.',
  keywords:
    'run a workflow now, start an automation by hand, kick off, execute, launch a job, start a workflow now, test an automation by hand',
  access: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  annotations: { ...CREATES, openWorldHint: true },
  view: 'run',
  inSteps: true,
  resumes: true,
  async reaches(input, store) {
    const { id } = input as { readonly id: string }; // of this tool
    const flow = await store.flows.get(id);
    return flow && `the flow ${id} (revision ${flow.revision})`;
  },
  input: z.strictObject({
    id: orNameOf('flow', refTo('flow', recordId)).describe('Flow id (`flw_…`) or name, see list_flows.'),
    input: z
      .record(z.string(), z.unknown())
      .refine(isSmallInput, `Is longer than ${LARGEST_INPUT} characters of JSON; give less.`)
      .optional()
      .describe('What templates and conditions see as `input`.'),
    wait: z.boolean().default(false).describe('Answer when the run has finished, or waits for a person.'),
  }),
  output: flowRun,
  errors: ['not_found', 'conflict'],
  isPending: (run) => !hasEnded(run),
  shown: showRun,

  async handler({ id, input, wait }, { store, principal, server, signal, write, repeat, fail }) {
    requireShallow(principal);
    const begun = runOriginOf({ principal, repeat });
    const run = await write(async (tx) => {
      const before = await earlierRun(tx, { principal, repeat }, server.now());
      if (before) return before;
      const flow = await tx.flows.read(id);
      const kind = flow.trigger.kind === 'webhook' ? 'webhook' : 'manual';
      const trigger = { kind, by: authorOf(principal) } as const;
      const askedBy = await behind(principal, tx);
      return queueRun(tx, flow, { trigger, input, causes: causesOf(principal), askedBy, begun });
    });
    server.flows?.wake(run.flowId);
    const waited = wait && (await server.flows?.ended({ id: run.id, by: runOf(principal) }, signal));
    if (waited === 'stuck') {
      await write(async (tx) => {
        const { status } = (await tx.flowRuns.get(run.id)) ?? run;
        if (status === 'queued') await cancelQueued(tx, run.id, STUCK, server.now());
      });
      throw fail('conflict', STUCK);
    }
    const now = waited || ((await store.flowRuns.get(run.id)) ?? run);
    if (wait && principal.type === 'flow' && now.status === 'waiting') throw await waitsFor(now, { store, server });
    // The step that waits stores the answer, and its run cannot continue before this run ends.
    if (wait && principal.type === 'flow' && begun.begunBy !== undefined && !hasEnded(now))
      throw fail('unavailable', STOPS);
    return now;
  },
});

/** The flow that waits for the run waits for the same person. */
async function waitsFor(
  { id, underWay }: FlowRunRecord,
  { store, server }: { readonly store: Pick<Readers, 'approvals'>; readonly server: ServerContext },
): Promise<ToolError> {
  const approvalId = underWay?.approval?.id ?? '';
  const { expiresAt } = (await store.approvals.get(approvalId)) ?? {};
  const approval = { approvalId, expiresAt, url: approvalPage(server, approvalId) };
  return new ToolError('approval_required', `The run ${id} waits for approval.`, { approval });
}

const STOPS = 'The server is shutting down; the run continues. Wait for it again when the server is back.';

const listFlowRuns = defineTool({
  name: 'list_flow_runs',
  title: 'List flow runs',
  description: 'List runs of flows, newest first, with status and timing of each step.',
  keywords:
    "workflow executions, history of an automation, did the job run, failed jobs, queue, did last night's automation work, which jobs failed, recent workflow runs",
  access: { scope: 'flows:read', grant: 'flow:read', narrows: true, selects: { id: NAME, status: 'status' } },
  annotations: READS,
  view: 'run',
  aliases: { flowId: 'id' },
  input: z.strictObject({
    id: orNameOf('flow', refTo('flow', recordId))
      .optional()
      .describe('Flow id or name (also as `flowId`): runs of this flow only.'),
    status: flowRunStatus.optional(),
    ...paging,
  }),
  output: pageOf(flowRun),
  errors: [],

  async handler({ id, status, ...page }, { store, principal, server }) {
    const any = whereAllowed<FlowRunRecord>(principal.rights.limitedTo('flow', 'read'), 'flowId');
    const query = { where: { flowId: id, status }, any };
    const found = await listPage(store.flowRuns, page, query, (run) => run, LARGEST_PAGE);
    return { ...found, data: await Promise.all(found.data.map((run) => showRun(run, { store, principal, server }))) };
  },
});

const getFlowRun = defineTool({
  name: 'get_flow_run',
  title: 'Get flow run',
  description:
    'Read one run of a flow: its status and that of each step; inputs and outputs are shown only to the principal it ran as and to admins.',
  keywords:
    'what happened in a workflow execution, result of a job, step outputs, why did the automation fail, output of a step',
  access: { scope: 'flows:read', grant: 'flow:read:{id}' },
  annotations: READS,
  view: 'run',
  input: z.strictObject({ id: runId }),
  output: flowRun,
  errors: ['not_found'],

  handler: async ({ id }, context) => showRun(await context.store.flowRuns.read(id), context),
});

const cancelFlowRun = defineTool({
  name: 'cancel_flow_run',
  title: 'Cancel flow run',
  description:
    'Cancel a queued, waiting or running run; a step under way finishes first. Finished steps are not undone.',
  keywords: 'stop a running workflow, abort an automation, halt a job',
  access: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  annotations: DELETES,
  inSteps: true,
  input: z.strictObject({ id: runId }),
  output: flowRun,
  errors: ['not_found', 'conflict'],
  shown: showRun,

  async handler({ id }, { store, server, write, fail }) {
    const run = await write(async (tx) => {
      const current = await tx.flowRuns.read(id);
      if (current.status === 'cancelled') return current;
      if (current.status === 'running') return tx.flowRuns.update(id, { cancelAsked: true });
      if (current.status === 'waiting') return cancelWaiting(tx, current, server.now());
      if (hasEnded(current)) throw fail('conflict', `The run has already ended: ${current.status}.`);
      return cancelQueued(tx, id, 'The run was cancelled.', server.now());
    });
    if (run.status === 'running') server.flows?.cancel(id);
    else server.flows?.wake(run.flowId);
    return (await store.flowRuns.get(id)) ?? run;
  },
});

const STUCK =
  'The run would wait for itself: runs of the flow wait their turn, and one before it waits, itself or by others, for the run that you are in. Trigger it without wait, or let it have overlap=allow.';

async function cancelQueued(tx: Pick<Writers, 'flowRuns'>, id: string, message: string, now: Date) {
  const error = { code: 'conflict', message } as const;
  return tx.flowRuns.update(id, { status: 'cancelled', error, finishedAt: now.toISOString() });
}

export const flowRunTools = [triggerFlow, listFlowRuns, getFlowRun, cancelFlowRun];

/** Only admins and `runAs` see the content of runs, `runAs` while it may see all records that a run names. Triggering gives no right to read. */
export async function showRun(run: FlowRun, caller: Caller): Promise<FlowRun> {
  if (await seesContent(run, caller)) return run;
  const { input: _, error, steps, ...rest } = run;
  const shown = steps.map(({ input: _input, output: _output, error: failure, ...step }) => ({
    ...step,
    ...(failure && { error: { code: failure.code } }),
  }));
  return { ...rest, steps: shown, ...(error && { error: { code: error.code } }) };
}

export async function seesContent({ runAs, input, steps, trigger }: FlowRun, caller: Caller): Promise<boolean> {
  if (caller.principal.rights.isAdmin) return true;
  return isRunAs(caller.principal, runAs) && seesAllIn(caller, [input, steps, trigger]);
}

export const retryFlowRun = defineTool({
  name: 'retry_flow_run',
  title: 'Retry flow run',
  description:
    'Run a flow again with the input of a run that has ended, from its first step or, keeping the outputs before it, from `fromStep`. Returns the queued run.',
  keywords:
    'rerun a failed workflow, try the automation again, continue from the broken step, resume a job, replay, try a failed job again, retry from a step',
  access: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  annotations: { ...CREATES, openWorldHint: true },
  inSteps: true,
  findsBegun: true,
  input: z.strictObject({
    id: refTo('flow-run', recordId).describe('Run id (`run_…`), see list_flow_runs.'),
    fromStep: flowStep.shape.id
      .optional()
      .describe('Id of the step to go on from; those before it must be as they were. Default: all steps again.'),
  }),
  output: flowRun,
  errors: ['not_found', 'conflict'],
  shown: showRun,

  async handler({ id, fromStep }, { store, principal, server, write, repeat, fail }) {
    requireShallow(principal);
    const begun = runOriginOf({ principal, repeat });
    const seen = await store.flowRuns.get(id);
    const sees = seen !== undefined && (await seesContent(seen, { store, principal, server }));
    const run = await write(async (tx) => {
      const before = await earlierRun(tx, { principal, repeat }, server.now());
      if (before) return before;
      const earlier = await tx.flowRuns.read(id);
      if (!hasEnded(earlier)) throw fail('conflict', `The run is ${earlier.status}; retry it when it has ended.`);
      const flow = await tx.flows.read(earlier.flowId);
      const retry = takenOver(earlier, flow, fromStep, fail);
      // Who may read the earlier run may hand on what it holds to a run of their own.
      const runAs = sees && isRunAs(principal, flow.runAs) ? flow.runAs : earlier.runAs;
      const problem = retryProblem(flow, { runAs, ...retry });
      if (problem) throw fail('conflict', problem);
      const trigger = { kind: 'manual', by: authorOf(principal) } as const;
      const askedBy = [...new Set([...(earlier.askedBy ?? []), ...(await behind(principal, tx))])];
      return queueRun(tx, flow, { trigger, input: earlier.input, causes: causesOf(principal), askedBy, begun, retry });
    });
    server.flows?.wake(run.flowId);
    return run;
  },
});

/** What the new run has of the earlier one: nothing but its input, or also the steps before the one to continue from, if the flow still has them so. */
function takenOver(
  earlier: FlowRunRecord,
  flow: Flow,
  fromStep: string | undefined,
  fail: Fail<'conflict'>,
): RetrySource {
  if (fromStep === undefined) return { retryOf: earlier.id };
  const plan = planOf(flow);
  const at = plan.findIndex((step) => step.id === fromStep);
  if (at < 0) {
    const ids = plan.map((step) => step.id).join(', ');
    const message = `The flow has no step ${JSON.stringify(fromStep)}; name one of ${ids || 'its steps, when it has some'}.`;
    throw fail('invalid_input', message, { issues: [{ path: 'fromStep', message }] });
  }
  const before = plan.slice(0, at);
  const changed = before.find((step, index) => canonicalize(step) !== canonicalize(earlier.plan[index]));
  if (changed) {
    const other = `The step ${changed.id} before it is not as it was in that run; go on from there.`;
    throw fail('conflict', other);
  }
  const steps = earlier.steps.slice(0, at);
  const stops = steps.find((step) => !isPassed(step, earlier));
  if (stops) throw fail('conflict', `The step ${stops.id} before it did not succeed in that run; go on from there.`);
  const { id: retryOf, recordIds } = earlier;
  return { retryOf, steps, ...(recordIds && { recordIds }), retriedRevision: flow.revision };
}

function isPassed({ id, status }: FlowRunStep, { plan }: FlowRunRecord): boolean {
  const goesOn = plan.find((step) => step.id === id)?.onError === 'continue';
  return status === 'succeeded' || status === 'skipped' || (status === 'failed' && goesOn);
}
