import type { FlowRun, FlowRunTrigger } from '../../../../resources/flow-run.ts';

export function isOpen({ status }: Pick<FlowRun, 'status'>): boolean {
  return status === 'running' || status === 'queued' || status === 'waiting';
}

/** The caller, or the schedule or event. */
export function starterOf(trigger: FlowRunTrigger): string {
  if ('by' in trigger) return trigger.by.name;
  return trigger.kind === 'event' ? trigger.type : trigger.kind;
}

export function pathOfRuns(flowId: string): string {
  return `/flows/${encodeURIComponent(flowId)}?tab=runs`;
}

export function pathOfRun({ flowId, id }: Pick<FlowRun, 'flowId' | 'id'>): string {
  return `${pathOfRuns(flowId)}&run=${encodeURIComponent(id)}`;
}
