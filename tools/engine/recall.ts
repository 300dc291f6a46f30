import type { Agent } from '../../resources/agent.ts';
import type { Memory, MemoryRecord } from '../../resources/memory.ts';
import type { Readers, TextSearch, Where } from '../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { onlyThese } from '../paging.ts';
import { visibleTo } from '../threads/visibility.ts';

interface Asked {
  readonly agent: Agent;
  /** Whom the agent acts for. */
  readonly caller: Principal;
  readonly threadId: string | undefined;
  /** What is talked about. */
  readonly text: string;
}

const LONGEST_QUERY = 2000;
const WORKSPACE = 'workspace';

/**
 * The memories for a prompt: pinned ones, then those about what is talked of, then the newest, as many as the agent takes. What is
 * remembered for the agent or the thread is part of them; of the workspace's memories it gets those that its caller may read.
 */
export async function recall(store: Readers & TextSearch, asked: Asked): Promise<Memory[]> {
  const most = asked.agent.memoryPolicy.maxInjected;
  if (most === 0) return [];
  const holding = holdingFor(asked);
  const common = { superseded: false, ...visibleTo(asked.caller) };
  const newest = async (more: Where<MemoryRecord>) => {
    const pages = holding.map((where) => store.memories.find({ where: { ...common, ...where, ...more }, limit: most }));
    const records = (await Promise.all(pages)).flatMap((page) => page.records);
    return records.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  };
  const text = asked.text.slice(0, LONGEST_QUERY).trim();
  const { hits } =
    text === '' ? { hits: [] } : await store.search('memories', { text, where: common, any: holding, limit: most });
  const found = [...(await newest({ pinned: true })), ...hits.map(({ record }) => record), ...(await newest({}))];
  return [...new Map(found.map((memory) => [memory.id, memory])).values()].slice(0, most);
}

function holdingFor({ agent, caller: { rights }, threadId }: Asked): Where<MemoryRecord>[] {
  const own: Where<MemoryRecord>[] = [{ scope: 'agent', agentId: agent.id }];
  if (threadId !== undefined) own.push({ scope: 'thread', threadId });
  const reads = rights.mayTry({ scope: 'memory:read', needs: [{ resource: 'memory', op: 'read' }], narrows: true });
  if (!reads) return own;
  const only = onlyThese<MemoryRecord>(rights.limitedTo('memory', 'read'), 'id') ?? [{}];
  // One who is held to memories of another scope has none of the workspace's.
  const shared = only.filter(({ scope = WORKSPACE }) => scope === WORKSPACE);
  return [...own, ...shared.map((where) => ({ ...where, scope: WORKSPACE }))];
}
