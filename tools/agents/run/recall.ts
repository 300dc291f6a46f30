import type { Agent } from '../../../resources/agent.ts';
import type { Memory, MemoryRecord } from '../../../resources/memory.ts';
import type { Readers, TextSearch, Where } from '../../../store/port.ts';
import type { Principal } from '../../access/principal.ts';
import { visibleTo } from '../../access/visibility.ts';
import { onlyThese } from '../../registry/paging.ts';

interface Asked {
  readonly agent: Agent;
  /** Whom the agent acts for. */
  readonly caller: Principal;
  readonly threadId: string | undefined;
  /** What is talked about. */
  readonly text: string;
}

const LONGEST_QUERY = 2000;

/**
 * The memories for a prompt: pinned ones, then those about what is talked of, then the newest, as many as the agent takes. What is
 * remembered for the agent or the thread is part of them; of the workspace's memories it gets those that its caller may read. Where fixed
 * arguments hold the caller to some memories, it gets no others at all.
 */
export async function recall(store: Readers & TextSearch, asked: Asked): Promise<Memory[]> {
  const most = asked.agent.memoryPolicy.maxInjected;
  if (most === 0) return [];
  const held = onlyThese<MemoryRecord>(asked.caller.rights.held('memory', 'read'), 'id');
  const holding = holdingFor(asked).flatMap((where) => (held ? held.flatMap((other) => both(where, other)) : [where]));
  const common = { superseded: false, ...visibleTo(asked.caller) };
  const newest = async (more: Where<MemoryRecord>) => {
    const wanted = holding.flatMap((where) => both({ ...common, ...more }, where));
    const pages = wanted.map((where) => store.memories.find({ where, limit: most }));
    const records = (await Promise.all(pages)).flatMap((page) => page.records);
    return records.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  };
  const text = asked.text.slice(0, LONGEST_QUERY).trim();
  const { hits } =
    text === '' ? { hits: [] } : await store.search('memories', { text, where: common, any: holding, limit: most });
  const found = [...(await newest({ pinned: true })), ...hits.map(({ record }) => record), ...(await newest({}))];
  return [...new Map(found.map((memory) => [memory.id, memory])).values()].slice(0, most);
}

/** Filters that hold where both do; none where no record can meet them. */
function both(one: Where<MemoryRecord>, other: Where<MemoryRecord>): Where<MemoryRecord>[] {
  const members = Object.keys(one) as (keyof MemoryRecord)[]; // of the filter
  const isOther = (member: keyof MemoryRecord) => JSON.stringify(other[member]) !== JSON.stringify(one[member]);
  const clashes = members.some((member) => other[member] !== undefined && isOther(member));
  return clashes ? [] : [{ ...one, ...other }];
}

function holdingFor({ agent, caller: { rights }, threadId }: Asked): Where<MemoryRecord>[] {
  const own: Where<MemoryRecord>[] = [{ scope: 'agent', agentId: agent.id }];
  if (threadId !== undefined) own.push({ scope: 'thread', threadId });
  const reads = rights.mayTry({ scope: 'memory:read', needs: [{ resource: 'memory', op: 'read' }], narrows: true });
  if (!reads) return own;
  const only = onlyThese<MemoryRecord>(rights.limitedTo('memory', 'read'), 'id') ?? [{}];
  return [...own, ...only.flatMap((where) => both(where, { scope: 'workspace' }))];
}
