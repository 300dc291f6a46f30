import type { Agent } from '../../../resources/agent.ts';
import { ToolError } from '../errors.ts';
import { allowlistLimit } from './allowlist.ts';
import {
  type GuardedCatalog,
  type GuardedTool,
  intersectToolLimits,
  isListed,
  type ToolLimit,
} from './guarded-tool.ts';
import { actorsOf, type Principal } from './principal.ts';
import { seesTool } from './reach.ts';
import { grantsFor } from './requirement.ts';
import { grantRights, intersectRights } from './rights.ts';

/** How deep runs of agents and flows may be nested. */
export const DEEPEST = 3;

/**
 * The principal of an agent that runs for the caller. It may use its allowlist and what those tools need, and no more than the caller. So
 * tools such as `search` find no kind of record for which the agent has no tool. An agent never gets tools that answer a secret, because
 * what it sees goes to a provider and into conversations.
 */
export function actingFor(
  caller: Principal,
  agent: Pick<Agent, 'id' | 'name' | 'tools' | 'askFirst'>,
  { entries: known }: GuardedCatalog,
  runId?: string,
): Principal {
  const entries = allowlistLimit(`the agent ${agent.name}`, agent.tools ?? []);
  const limit: ToolLimit = {
    ...entries,
    allows: (tool) => !tool.answersSecret && !tool.forPeople && entries.allows(tool),
  };
  const needed = known.filter(({ tool }) => limit.allows(tool)).flatMap(({ tool }) => grantsFor(tool.access));
  return {
    ...caller,
    type: 'agent',
    id: agent.id,
    name: agent.name,
    rights: intersectRights(caller.rights, grantRights(needed)),
    tools: intersectToolLimits(caller.tools, limit),
    askFirst: agent.askFirst ?? [],
    actsFor: caller,
    ...(runId !== undefined && { runId }),
  };
}

/** Answers where no agent is named. It has no tools. */
export const ASSISTANT = { id: 'assistant', name: 'assistant', tools: [] };

/** @throws ToolError if the run would be nested too deep */
export function requireShallow(caller: Principal): void {
  const running = actorsOf(caller).filter(({ type }) => type === 'agent' || type === 'flow');
  if (running.length < DEEPEST) return;
  const names = running.map(({ name }) => name).reverse();
  const message = `Agents and flows run at most ${DEEPEST} deep inside each other, and this is inside of ${names.join(' > ')}; finish here without another one.`;
  throw new ToolError('conflict', message);
}

/** The tools that an agent is offered, in catalog order. Of too many, it gets the first ones and the tools that find the others. */
export function offered<Tool extends GuardedTool>(
  principal: Principal,
  { entries }: { readonly entries: readonly { readonly tool: Tool }[] },
  most: number,
): readonly Tool[] {
  const tools = entries.map(({ tool }) => tool).filter((tool) => isListed(tool) && seesTool(principal, tool));
  if (tools.length <= most) return tools;
  const finding = entries.map(({ tool }) => tool).filter(({ discovery }) => discovery);
  return [...tools.slice(0, most - finding.length), ...finding];
}
