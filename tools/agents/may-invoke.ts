import type { Agent } from '../../resources/agent.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { mayCall, seesTool } from '../core/access/reach.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import type { ServerContext } from '../core/registry/context.ts';

interface Judging {
  readonly store: Readers;
  readonly server: Pick<ServerContext, 'catalog' | 'kinds'>;
}

/** Whether a call of invoke_agent with this agent would be allowed and taken. */
export async function mayInvoke(principal: Principal, agent: Agent, { store, server }: Judging): Promise<boolean> {
  const tool = server.catalog.get('invoke_agent')?.tool;
  if (agent.status !== 'active' || !tool || !seesTool(principal, tool)) return false;
  const fixed = principal.tools?.fixed?.(tool)?.agent;
  if (fixed !== undefined && fixed !== agent.id && fixed !== agent.name) return false;
  return mayCall(principal, tool, { agent: agent.id }, subjectsIn(store, server.kinds));
}
