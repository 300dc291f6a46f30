import { canonicalize } from 'json-canonicalize';
import type { Flow } from '../../resources/flow.ts';
import type { Readers } from '../../store/port.ts';
import type { FlowDefinition } from './definition-texts.ts';

type DefinitionChange = { readonly [Member in keyof FlowDefinition]?: FlowDefinition[Member] | null | undefined };

/** The definition after a change. Members that are not given stay; null clears. */
export function definitionOf(current: FlowDefinition, change: DefinitionChange): FlowDefinition {
  const steps = change.steps === undefined ? current.steps : change.steps;
  const agentId = change.agentId === undefined ? current.agentId : change.agentId;
  const prompt = change.prompt === undefined ? current.prompt : change.prompt;
  return {
    trigger: change.trigger ?? current.trigger,
    ...(steps && { steps }),
    ...(agentId && { agentId }),
    ...(prompt && { prompt }),
  };
}

export function sameDefinition(one: FlowDefinition, other: FlowDefinition): boolean {
  const text = ({ trigger, steps, agentId, prompt }: FlowDefinition) => canonicalize([trigger, steps, agentId, prompt]);
  return text(one) === text(other);
}

/** Whether its runs begin without a call of somebody who is asked who they are. */
export function startsAutomatically({ kind }: Pick<Flow['trigger'], 'kind'>): boolean {
  return kind !== 'manual';
}

/** Whether the change decides what a flow does that begins by itself. A change of its name, or of whether it runs, does not. */
export async function changesAutomaticRuns(
  { id, ...change }: DefinitionChange & { readonly id: string },
  { flows }: Pick<Readers, 'flows'>,
): Promise<boolean> {
  const current = await flows.get(id);
  const trigger = change.trigger ?? current?.trigger;
  if (trigger === undefined || !startsAutomatically(trigger)) return false;
  return current === undefined || !sameDefinition(current, definitionOf(current, change));
}
