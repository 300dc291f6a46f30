import type { Agent } from '../../../resources/agent.ts';
import type { Memory, MemoryRecord } from '../../../resources/memory.ts';
import type { Readers, TextSearch, Where } from '../../../store/port.ts';
import type { Principal } from '../../core/access/principal.ts';
import { whereAllowed } from '../../core/access/record-limit.ts';
import { visibleTo } from '../../core/access/visibility.ts';
import type { ServerContext } from '../../core/registry/context.ts';
import { widened } from '../../documents/find-passages.ts';
import { rankPassages } from '../../search/rank-passages.ts';
import type { ReadableFilter } from '../../search/types.ts';
import { onceSaid } from './once-said.ts';

interface RecallInput {
  readonly agent: Agent;
  readonly caller: Principal;
  readonly threadId: string | undefined;
  /** What the conversation is about. */
  readonly text: string;
  readonly server: Pick<ServerContext, 'semanticSearch'>;
}

const LONGEST_QUERY = 2000;

/**
 * Selects the memories for a prompt: first pinned ones, then those that fit the text by words and meaning, then those that share words with
 * it, then the newest, as many as the agent takes.
 * Memories of the agent and of the thread are always included; memories of the workspace only if the caller may read them. Where fixed
 * arguments limit the caller to some memories, no others are selected.
 */
export async function recall(store: Readers & TextSearch, asked: RecallInput): Promise<Memory[]> {
  const most = asked.agent.memoryPolicy.maxInjected;
  if (most === 0) return [];
  const held = whereAllowed<MemoryRecord>(asked.caller.rights.held('memory', 'read'), 'id');
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
    text === ''
      ? { hits: [] }
      : await store.search('memories', { text: widened(text), where: common, any: holding, limit: most });
  const fitting = text === '' ? [] : await near({ where: common, any: holding }, text, { ...asked, store });
  const found = [
    ...(await newest({ pinned: true })),
    ...fitting,
    ...hits.map(({ record }) => record),
    ...(await newest({})),
  ];
  return onceSaid(found, ({ content }) => content).slice(0, most);
}

/** Those that an embedding model puts near, joined with words as `search_passages` does it. */
async function near(
  readable: ReadableFilter,
  q: string,
  { store, server, caller: principal }: RecallInput & { readonly store: Readers & TextSearch },
): Promise<Memory[]> {
  if (!server.semanticSearch?.isOn) return [];
  const kind = { type: 'memory', collection: 'memories', readable: () => readable } as const;
  const { found } = await rankPassages([kind], { q, where: {} }, { store, server, principal });
  return found.flatMap(({ weak, found: { record } }) => (weak ? [] : [record as Memory])); // of that collection
}

/** The filters that match where both match. Empty if nothing can. */
function both(one: Where<MemoryRecord>, other: Where<MemoryRecord>): Where<MemoryRecord>[] {
  const members = Object.keys(one) as (keyof MemoryRecord)[]; // the names of the filter's members
  const isOther = (member: keyof MemoryRecord) => JSON.stringify(other[member]) !== JSON.stringify(one[member]);
  const clashes = members.some((member) => other[member] !== undefined && isOther(member));
  return clashes ? [] : [{ ...one, ...other }];
}

function holdingFor({ agent, caller: { rights }, threadId }: RecallInput): Where<MemoryRecord>[] {
  const own: Where<MemoryRecord>[] = [{ scope: 'agent', agentId: agent.id }];
  if (threadId !== undefined) own.push({ scope: 'thread', threadId });
  const reads = rights.mayTry({ scope: 'memory:read', needs: [{ resource: 'memory', op: 'read' }], narrows: true });
  if (!reads) return own;
  const only = whereAllowed<MemoryRecord>(rights.limitedTo('memory', 'read'), 'id') ?? [{}];
  return [...own, ...only.flatMap((where) => both(where, { scope: 'workspace' }))];
}
