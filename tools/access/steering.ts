import { setImmediate } from 'node:timers/promises';
import type { Agent } from '../../resources/agent.ts';
import type { Memory } from '../../resources/memory.ts';
import type { Position, Readers, Where } from '../../store/port.ts';
import type { Catalog } from '../registry/catalog-index.ts';
import { ToolError } from '../registry/errors.ts';
import { beyondTools } from './delegation.ts';
import type { Principal } from './principal.ts';

/**
 * What steers an agent is what it is told and what it may use: whoever changes that acts, through the agent, with the rights of those who run
 * it. So it takes rights to all that its allowlist reaches. What it is called and how it appears steer nothing.
 */
const STEERING = ['description', 'instructions', 'tools', 'skillIds', 'modelPreference'] as const;

/** Kinds of memories that a model is told to follow. */
const FOLLOWED: readonly string[] = ['instruction', 'preference'];

interface Changing {
  readonly store: Pick<Readers, 'agents'>;
  readonly principal: Principal;
  readonly server: { readonly catalog: Catalog };
}

type Allowing = Pick<Agent, 'id' | 'name' | 'tools'>;

/** Whether the change makes another agent of it; null and absent are the same. */
export function steers(agent: Agent, change: { readonly [Member in (typeof STEERING)[number]]?: unknown }): boolean {
  const text = (value: unknown) => JSON.stringify(value ?? null);
  return STEERING.some((member) => change[member] !== undefined && text(change[member]) !== text(agent[member]));
}

/** @throws ToolError (forbidden) naming the first right that the caller lacks */
export function requireSteering({ principal, server }: Omit<Changing, 'store'>, ...agents: readonly Allowing[]): void {
  for (const agent of agents) {
    const beyond = beyondTools(principal, { entries: agent.tools ?? [], catalog: server.catalog });
    if (beyond) throw refusal(agent, principal, beyond);
  }
}

/** The same for all agents of the workspace that are not deleted, or those of them that the filter gives. */
export async function requireSteeringAll(changing: Changing, where: Where<Agent> = {}): Promise<void> {
  const { principal, store } = changing;
  if (principal.rights.isAdmin && !principal.tools) return;
  let after: Position | undefined;
  do {
    const query = { where: { ...where, status: ['active', 'paused'] }, limit: BATCH, after };
    const page = await store.agents.find(query);
    requireSteering(changing, ...distinct(page.records));
    after = page.next ?? undefined;
    await setImmediate(); // other calls have their turn
  } while (after);
}

const BATCH = 500;

type Remembered = Pick<Memory, 'kind' | 'scope'> & { readonly agentId?: string | null | undefined };

/** For memories that come, go or change: of each its state before and after. */
export async function requireSteeringBy(
  changing: Changing,
  ...states: readonly (Remembered | undefined)[]
): Promise<void> {
  for (const state of states) {
    // Those about a user are in no prompt.
    if (!state || !FOLLOWED.includes(state.kind) || state.scope === 'user') continue;
    const agent = state.scope === 'agent' && state.agentId ? await changing.store.agents.get(state.agentId) : undefined;
    if (agent) requireSteering(changing, agent);
    else await requireSteeringAll(changing);
  }
}

/** Whether a message may name the agent. */
export function mayReadAgent({ rights }: Pick<Principal, 'rights'>, agent: Pick<Agent, 'id' | 'name'>): boolean {
  const need = { resource: 'agent', op: 'read', ids: [agent.id, agent.name], record: agent };
  return rights.allows({ scope: 'agents:read', needs: [need] });
}

/** One of each allowlist. */
function distinct(agents: readonly Allowing[]): readonly Allowing[] {
  return [...new Map(agents.map((agent) => [JSON.stringify(agent.tools ?? []), agent])).values()];
}

function refusal(
  agent: Allowing,
  principal: Principal,
  { what, required }: NonNullable<ReturnType<typeof beyondTools>>,
) {
  const which = mayReadAgent(principal, agent) ? `the agent ${agent.name}` : 'an agent';
  const message = `This steers ${which}, which may use ${what}: that is beyond your own rights, and others run it with theirs.`;
  return new ToolError('forbidden', 'Insufficient permissions', {
    ...(Object.keys(required).length > 0 && { required }),
    issues: [{ path: '', message }],
  });
}
