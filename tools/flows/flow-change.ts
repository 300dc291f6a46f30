import { canonicalize } from 'json-canonicalize';
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
