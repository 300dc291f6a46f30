import { z } from 'zod';
import { recordId } from '../../resources/fields.ts';
import { flowStep } from '../../resources/flow.ts';
import { type FlowRunRecord, type FlowRunStep, flowRun } from '../../resources/flow-run.ts';
import { refTo } from '../../resources/markers.ts';
import { requireShallow } from '../core/access/agent-principal.ts';
import { authorOf } from '../core/access/principal.ts';
import { CREATES, defineTool, type Fail } from '../core/registry/define-tool.ts';
import { earlierRun, runOriginOf } from './idempotent-run.ts';
import { causesOf } from './run/triggers.ts';
import { hasEnded, queueRun, type RetrySource, retryProblem } from './run-queue.ts';
import { showRun } from './runs.ts';

export const retryFlowRun = defineTool({
  name: 'retry_flow_run',
  title: 'Retry flow run',
  description:
    'Run a flow again with the input of a run that has ended, from its first step or, keeping the outputs before it, from `fromStep`. Returns the queued run.',
  access: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  annotations: { ...CREATES, openWorldHint: true },
  inSteps: true,
  findsBegun: true,
  input: z.strictObject({
    id: refTo('flow-run', recordId).describe('Run id (`run_…`), see list_flow_runs.'),
    fromStep: flowStep.shape.id
      .optional()
      .describe('Id of the step to go on from; only while the flow is as it was. Default: all steps again.'),
  }),
  output: flowRun,
  errors: ['not_found', 'conflict'],
  shown: showRun,

  async handler({ id, fromStep }, { principal, server, write, repeat, fail }) {
    requireShallow(principal);
    const begun = runOriginOf({ principal, repeat });
    const run = await write(async (tx) => {
      const before = await earlierRun(tx, { principal, repeat }, server.now());
      if (before) return before;
      const earlier = await tx.flowRuns.read(id);
      if (!hasEnded(earlier)) throw fail('conflict', `The run is ${earlier.status}; retry it when it has ended.`);
      const flow = await tx.flows.read(earlier.flowId);
      const retry = takenOver(earlier, fromStep, fail);
      const problem = retryProblem(flow, { runAs: earlier.runAs, ...retry });
      if (problem) throw fail('conflict', problem);
      const trigger = { kind: 'manual', by: authorOf(principal) } as const;
      return queueRun(tx, flow, { trigger, input: earlier.input, causes: causesOf(principal), begun, retry });
    });
    server.flows?.wake(run.flowId);
    return run;
  },
});

/** What the new run has of the earlier one: nothing but its input, or also the steps before the one to continue from. */
function takenOver(earlier: FlowRunRecord, fromStep: string | undefined, fail: Fail<'conflict'>): RetrySource {
  if (fromStep === undefined) return { retryOf: earlier.id };
  const at = earlier.steps.findIndex((step) => step.id === fromStep);
  const steps = earlier.steps.slice(0, Math.max(at, 0));
  if (at < 0) {
    const ids = earlier.steps.map((step) => step.id).join(', ');
    const others = ids ? `name one of ${ids}` : 'it never began, so leave fromStep out';
    const message = `The run has no step ${JSON.stringify(fromStep)}; ${others}.`;
    throw fail('invalid_input', message, { issues: [{ path: 'fromStep', message }] });
  }
  const stops = steps.find((step) => !isPassed(step, earlier));
  if (stops) throw fail('conflict', `The step ${stops.id} before it did not succeed in that run; go on from there.`);
  const { id: retryOf, recordIds, flowRevision: retriedRevision } = earlier;
  return { retryOf, steps, ...(recordIds && { recordIds }), ...(retriedRevision && { retriedRevision }) };
}

/** Whether the run went on after the step. */
function isPassed({ id, status }: FlowRunStep, { plan }: FlowRunRecord): boolean {
  const goesOn = plan.find((step) => step.id === id)?.onError === 'continue';
  return status === 'succeeded' || status === 'skipped' || (status === 'failed' && goesOn);
}
