import type { Door } from '../../resources/audit-entry.ts';
import { includingHidden } from '../core/access/visibility.ts';
import type { HistoryWriters } from '../core/history-writers.ts';

/** The source of a new thread, by its door, where its maker gives none. */
export function sourceOf(door: Door, how: 'created' | 'chat'): string {
  if (door === 'agent' || door === 'flow') return door;
  if (door === 'rest' || door === 'dashboard') return how === 'chat' ? 'chat' : 'api';
  return 'mcp';
}

/** Stores that a thread has the source, so that stats can count by source without reading every thread. */
export async function enterSource(store: Pick<HistoryWriters, 'threadSources'>, source: string): Promise<void> {
  if (!(await store.threadSources.first({ where: { source } }))) await store.threadSources.insert({ source });
}

/** Called after a thread was deleted. Deletes its source when no other thread has it. */
export async function leaveSource(
  store: Pick<HistoryWriters, 'threads' | 'threadSources'>,
  source: string,
): Promise<void> {
  if (await store.threads.first({ where: { ...includingHidden, source } })) return;
  const kept = await store.threadSources.first({ where: { source } });
  if (kept) await store.threadSources.delete(kept.id);
}
