import { setImmediate } from 'node:timers/promises';
import type { Agent } from '../../../resources/agent.ts';
import type { Memory } from '../../../resources/memory.ts';
import { pagesOf } from '../../../store/pages.ts';
import type { Readers, Where } from '../../../store/port.ts';
import { forbidden } from '../errors.ts';
import { exceedsTools } from './delegation.ts';
import type { GuardedCatalog } from './guarded-tool.ts';
import type { Principal } from './principal.ts';

/** The members that steer an agent. It runs with the rights of its caller, so changing them requires the right to every tool it has. */
const STEERING = [
  'description',
  'instructions',
  'tools',
  'askFirst',
  'skillIds',
  'modelPreference',
  'fallbackModels',
] as const;

/** Kinds of memories whose text a model must follow. */
const FOLLOWED: readonly string[] = ['instruction', 'preference'];

interface Changing {
  readonly store: Pick<Readers, 'agents'>;
  readonly principal: Principal;
  readonly server: { readonly catalog: GuardedCatalog };
}

type Allowing = Pick<Agent, 'id' | 'name' | 'tools'>;

/** Whether the change alters what steers the agent. Null and absent are equal. */
export function steers(agent: Agent, change: { readonly [Member in (typeof STEERING)[number]]?: unknown }): boolean {
  const text = (value: unknown) => JSON.stringify(value ?? null);
  return STEERING.some((member) => change[member] !== undefined && text(change[member]) !== text(agent[member]));
}

/** @throws ToolError (forbidden) that names the first right that the caller lacks */
export function requireSteering({ principal, server }: Omit<Changing, 'store'>, ...agents: readonly Allowing[]): void {
  for (const agent of agents) {
    const beyond = exceedsTools(principal, { entries: agent.tools ?? [], catalog: server.catalog });
    if (beyond) throw refusal(agent, principal, beyond);
  }
}

/** The same for all agents of the workspace that are not deleted, or for those that match the filter. */
export async function requireSteeringAll(changing: Changing, where: Where<Agent> = {}): Promise<void> {
  const { principal, store } = changing;
  if (principal.rights.isAdmin && !principal.tools) return;
  const current: Where<Agent> = { ...where, status: ['active', 'paused'] };
  for await (const agents of pagesOf(store.agents, { where: current, limit: BATCH })) {
    requireSteering(changing, ...distinct(agents));
    await setImmediate(); // lets other calls run
  }
}

const BATCH = 500;

type Remembered = Pick<Memory, 'kind' | 'scope'> & { readonly agentId?: string | null | undefined };

/** The same for memories that are made, changed or deleted. Each is given with its state before and after. */
export async function requireSteeringBy(
  changing: Changing,
  ...states: readonly (Remembered | undefined)[]
): Promise<void> {
  for (const state of states) {
    // Memories about a user are in no prompt.
    if (!state || !FOLLOWED.includes(state.kind) || state.scope === 'user') continue;
    const agent = state.scope === 'agent' && state.agentId ? await changing.store.agents.get(state.agentId) : undefined;
    if (agent) requireSteering(changing, agent);
    else await requireSteeringAll(changing);
  }
}

/** Whether a message to the principal may name the agent. */
export function mayReadAgent({ rights }: Pick<Principal, 'rights'>, agent: Pick<Agent, 'id' | 'name'>): boolean {
  const need = { resource: 'agent', op: 'read', ids: [agent.id, agent.name], record: agent };
  return rights.allows({ scope: 'agents:read', needs: [need] });
}

/** One agent for each different allowlist. */
function distinct(agents: readonly Allowing[]): readonly Allowing[] {
  return [...new Map(agents.map((agent) => [JSON.stringify(agent.tools ?? []), agent])).values()];
}

function refusal(
  agent: Allowing,
  principal: Principal,
  { what, required }: NonNullable<ReturnType<typeof exceedsTools>>,
) {
  const which = mayReadAgent(principal, agent) ? `the agent ${agent.name}` : 'an agent';
  const message = `This steers ${which}, which may use ${what}: that is beyond your own rights, and others run it with theirs.`;
  return forbidden(message, required);
}
