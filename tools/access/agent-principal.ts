import type { Agent } from '../../resources/agent.ts';
import { type Catalog, isListed } from '../registry/catalog-index.ts';
import type { Tool } from '../registry/define-tool.ts';
import { ToolError } from '../registry/errors.ts';
import { allowlistLimit } from './allowlist.ts';
import { chainOf, type Principal } from './principal.ts';
import { reaches } from './reach.ts';
import { grantsFor } from './requirement.ts';
import { bothRights, grantRights } from './rights.ts';
import { bothLimits, type ToolLimit } from './tool-limit.ts';

/** Agents and flows that may run one inside the other. */
const DEEPEST = 3;

/**
 * The agent as it acts for the caller: held to its allowlist and to what the tools in it need, as far as the caller has that right. So
 * tools that look across records, as search does, find nothing of a kind for which the agent has no tool. Tools whose answers hold a secret
 * are out of its reach, for what it sees goes to a provider and into conversations.
 */
export function actingFor(
  caller: Principal,
  agent: Pick<Agent, 'id' | 'name' | 'tools'>,
  { entries: known }: Catalog,
): Principal {
  const entries = allowlistLimit(`the agent ${agent.name}`, agent.tools ?? []);
  const limit: ToolLimit = { ...entries, allows: (tool) => !tool.answersSecret && entries.allows(tool) };
  const needed = known.filter(({ tool }) => limit.allows(tool)).flatMap(({ tool }) => grantsFor(tool.access));
  return {
    ...caller,
    type: 'agent',
    id: agent.id,
    name: agent.name,
    rights: bothRights(caller.rights, grantRights(needed)),
    tools: bothLimits(caller.tools, limit),
    actsFor: caller,
  };
}

/** Who answers where no agent is asked for: without tools. */
export const ASSISTANT = { id: 'assistant', name: 'assistant', tools: [] };

/** @throws ToolError where one more run would be too deep inside others. */
export function requireShallow(caller: Principal): void {
  const running = [caller, ...chainOf(caller)].filter(({ type }) => type === 'agent' || type === 'flow');
  if (running.length < DEEPEST) return;
  const names = running.map(({ name }) => name).reverse();
  const message = `Agents and flows run at most ${DEEPEST} deep inside each other, and this is inside of ${names.join(' > ')}; finish here without another one.`;
  throw new ToolError('conflict', message);
}

/** The tools that an agent is offered, in the order of the catalog; where they are too many the first, and those that find the others. */
export function offered(principal: Principal, { entries }: Catalog, most: number): readonly Tool[] {
  const tools = entries.map(({ tool }) => tool).filter((tool) => isListed(tool) && reaches(principal, tool));
  if (tools.length <= most) return tools;
  const finding = entries.map(({ tool }) => tool).filter(({ discovery }) => discovery);
  return [...tools.slice(0, most - finding.length), ...finding];
}
