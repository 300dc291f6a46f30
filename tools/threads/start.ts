import type { Thread, ThreadRecord } from '../../resources/thread.ts';
import type { Principal } from '../core/access/principal.ts';
import { accessKeysOf, makerOf } from '../core/access/visibility.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { enterSource } from './sources.ts';

type ThreadInput = Pick<Thread, 'title' | 'source' | 'agentIds' | 'visibility' | 'forkedFrom'>;

/** A new thread without messages. Its owner is its maker. */
export async function startThread(
  store: Pick<HistoryWriters, 'threads' | 'threadSources'>,
  principal: Principal,
  { agentIds, ...given }: ThreadInput,
  now: Date,
): Promise<ThreadRecord> {
  await enterSource(store, given.source);
  const maker = makerOf(principal);
  const entries = [{ principal: maker, role: 'owner' as const, createdAt: now.toISOString(), grantedBy: maker.id }];
  return store.threads.insert({
    ...given,
    ...(agentIds && { agentIds: [...new Set(agentIds)] }),
    status: 'active',
    messageCount: 0,
    createdBy: maker.id,
    entries,
    accessKeys: accessKeysOf({ visibility: given.visibility, entries }),
  });
}
