import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { isSeen } from '../core/access/visibility.ts';
import { usualAgentId } from './choose-model.ts';
import { artifactsOf } from './message-files.ts';

interface AgentInput {
  readonly agent?: string;
  readonly agentId?: string;
  readonly threadId?: string;
  readonly continue?: string;
}

/** Who is asked, and the artifacts that go along, each as it is now. Undefined if there are none. */
export async function agentReached(input: object, store: Readers, caller: Principal): Promise<string | undefined> {
  const id = await agentIn(input as AgentInput, store, caller); // of both tools
  const agent = id === undefined ? undefined : await store.agents.get(id);
  const asked = agent && `the agent ${agent.id} (revision ${agent.revision})`;
  const parts = [asked, await artifactsOf(input, store, caller)].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join(' with ') : undefined;
}

/** As `send_chat_message` chooses it. */
async function agentIn({ agent, agentId, threadId, continue: earlier }: AgentInput, store: Readers, caller: Principal) {
  const named = agent ?? agentId;
  if (named !== undefined) return named;
  const thread = threadId === undefined ? undefined : await store.threads.get(threadId);
  if (threadId !== undefined && !(thread && isSeen(thread, caller))) return undefined;
  if (earlier !== undefined) return (await store.agentRuns.get(earlier))?.agentId;
  return usualAgentId(thread, store);
}
