import type { Flow, FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import { isTemplate } from '../templates.ts';

/** What a run is made of from its beginning on, whatever becomes of its flow. Steps that it took over from an earlier run stay as they are. */
export function startedRun(
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

/**
 * The steps of a run. For a flow with an agent it is one step that invokes the agent. The prompt is always a text, even where it is a
 * single output.
 */
function planOf({ steps, agentId, prompt = '{{ input }}' }: Flow): FlowStep[] {
  if (agentId === undefined) return steps ?? [];
  const retry = { attempts: 1, delayMs: 0 };
  const input = isTemplate(prompt) ? `{% if true %}${prompt}{% endif %}` : prompt;
  return [{ id: 'agent', tool: 'invoke_agent', arguments: { agent: agentId, input }, onError: 'stop', retry }];
}
