import type { Door } from '../../resources/audit-entry.ts';
import { whoeverSees } from '../core/access/visibility.ts';
import type { HistoryWriters } from '../core/history-writers.ts';

/** The source of a new thread, by its door, where its maker gives none. */
export function sourceOf(door: Door, how: 'created' | 'chat'): string {
  if (door === 'agent' || door === 'flow') return door;
  if (door === 'rest' || door === 'dashboard') return how === 'chat' ? 'chat' : 'api';
  return 'mcp';
}

/** Stores that a thread has the source, so that stats can count by source without reading every thread. */
export async function enterSource(store: Pick<HistoryWriters, 'threadSources'>, source: string): Promise<void> {
  const { records } = await store.threadSources.find({ where: { source }, limit: 1 });
  if (records.length === 0) await store.threadSources.insert({ source });
}

/** Called after a thread was deleted. Deletes its source when no other thread has it. */
export async function leaveSource(
  store: Pick<HistoryWriters, 'threads' | 'threadSources'>,
  source: string,
): Promise<void> {
  const others = await store.threads.find({ where: { ...whoeverSees, source }, limit: 1 });
  if (others.records.length > 0) return;
  const { records } = await store.threadSources.find({ where: { source }, limit: 1 });
  for (const { id } of records) await store.threadSources.delete(id);
}
