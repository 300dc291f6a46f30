import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import { type Telemetry, timed } from '../../core/telemetry/telemetry.ts';
import type { FlowExecution } from './execution.ts';

type Run = Pick<FlowRunRecord, 'id' | 'flowId' | 'trigger' | 'trace'>;

/** Goes on with the run, measures it, and gives it a trace of its own, since it may take far longer than what began it. */
export async function finishObserved(telemetry: Telemetry, run: Run, execution: FlowExecution): Promise<void> {
  const code = (ended: string | undefined) => ended;
  const finish = () =>
    telemetry.alone(
      () => spanOf(run),
      () => execution.finish(),
      code,
    );
  await timed(telemetry.measures.flowSeconds, [], finish, code);
}

function spanOf({ id, flowId, trigger, trace }: Run) {
  return {
    name: 'invoke_workflow',
    link: trace === undefined ? undefined : { traceparent: trace },
    attributes: {
      'gen_ai.operation.name': 'invoke_workflow',
      'agent_admin.flow.id': flowId,
      'agent_admin.flow_run.id': id,
      'agent_admin.flow_run.trigger': trigger.kind,
    },
  };
}
