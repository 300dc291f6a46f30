import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { Readers } from '../../../store/port.ts';

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
