import type { AgentRunRecord } from '../../resources/agent-run.ts';
import type { Reader, Readers, Where } from '../../store/port.ts';
import { firstOf } from '../../store/record-change.ts';
import type { Principal } from '../core/access/principal.ts';
import type { RecordLimit } from '../core/access/record-limit.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { makerKeyOf, seenBy } from '../core/access/visibility.ts';
import type { Fail } from '../core/errors.ts';
import { recordsNamed } from '../core/registry/record-names.ts';

/** Reads the runs that a caller may see: those in threads that it sees, and its own. Its grants may limit them to some agents and threads. */
export async function runsSeenBy(
  store: Readers,
  principal: Principal,
): Promise<Pick<Reader<AgentRunRecord>, 'find' | 'count'>> {
  const limit = await withIds(store, principal.rights.limitedTo('agent', 'read'));
  const byAgent = whereAllowed<AgentRunRecord>(limit, 'agentId');
  const byThread = threadsOf(principal);
  const any = byAgent || byThread ? joined(byAgent ?? [{}], byThread ?? [{}]) : undefined;
  const seen = seenBy(store.agentRuns, principal);
  return {
    find: (query) => seen.find({ ...query, any }),
    count: (query) => seen.count({ ...query, any }),
  };
}

/** @throws ToolError (not_found) if the run does not exist or the caller may not see it */
export async function openRun(
  { store, principal, fail }: { store: Readers; principal: Principal; fail: Fail<'not_found'> },
  id: string,
): Promise<AgentRunRecord> {
  const run = await firstOf(await runsSeenBy(store, principal), { where: { id } });
  if (!run) throw fail('not_found', `There is no run ${id}; list_agent_runs shows the ones you can see.`);
  return run;
}

function threadsOf(principal: Principal): readonly Where<AgentRunRecord>[] | undefined {
  const { rights } = principal;
  const reads = rights.mayTry({ scope: 'threads:read', needs: [{ resource: 'thread', op: 'read' }], narrows: true });
  const threads = reads ? whereAllowed<AgentRunRecord>(rights.limitedTo('thread', 'read'), 'threadId') : [];
  if (!threads) return undefined;
  const own: Where<AgentRunRecord>[] = rights.held('thread', 'read') ? [] : [{ makerKey: makerKeyOf(principal) }];
  return [{ kind: 'invoke' }, ...own, ...threads];
}

async function withIds(store: Readers, limit: RecordLimit | undefined): Promise<RecordLimit | undefined> {
  if (!limit?.names) return limit;
  const agents = await Promise.all(limit.names.map((name) => recordsNamed('agent', name, store)));
  return { ...limit, names: [...limit.names, ...agents.flat().map(({ id }) => id)] };
}

function joined<Kept>(some: readonly Where<Kept>[], others: readonly Where<Kept>[]): Where<Kept>[] {
  return some.flatMap((one) => others.map((other) => ({ ...one, ...other })));
}
