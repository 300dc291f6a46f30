import type { Door } from '../../resources/audit-entry.ts';
import { whoeverSees } from '../access/visibility.ts';
import type { HistoryWriters } from '../versions/history.ts';

/** What a thread that is made at the door is said to come from, where its maker does not say. */
export function sourceOf(door: Door, how: 'created' | 'chat'): string {
  if (door === 'agent' || door === 'flow') return door;
  if (door === 'rest' || door === 'dashboard') return how === 'chat' ? 'chat' : 'api';
  return 'mcp';
}

/** Notes that a thread has the source, so that stats can count by source without reading every thread. */
export async function enterSource(store: Pick<HistoryWriters, 'threadSources'>, source: string): Promise<void> {
  const { records } = await store.threadSources.find({ where: { source }, limit: 1 });
  if (records.length === 0) await store.threadSources.insert({ source });
}

/** After a thread with the source was deleted: forgets the source with the last of them. */
export async function leaveSource(
  store: Pick<HistoryWriters, 'threads' | 'threadSources'>,
  source: string,
): Promise<void> {
  const others = await store.threads.find({ where: { ...whoeverSees, source }, limit: 1 });
  if (others.records.length > 0) return;
  const { records } = await store.threadSources.find({ where: { source }, limit: 1 });
  for (const { id } of records) await store.threadSources.delete(id);
}
