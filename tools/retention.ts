import { SETTINGS_ID, type Settings } from '../resources/settings.ts';
import { pagesOf } from '../store/pages.ts';
import { type PeriodicTask, startLeaderTask } from '../store/periodic-task.ts';
import type { Position, Reader, Store, Writers } from '../store/port.ts';
import { isUnused, removeThread } from './threads/threads.ts';
import { rollUp } from './usage/roll-ups.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Records that are looked at, or deleted in one transaction. */
const BATCH = 100;
/** Days for which runs are kept where the settings say nothing. */
export const RUN_DAYS = 30;

/** Deletes audit entries, runs and threads that are older than the settings allow, now and once a day. */
export function startRetention(
  store: Store,
  onFailure: (cause: unknown) => void,
  everyMs: number = DAY_MS,
): PeriodicTask {
  return startLeaderTask(store.jobs, () => deleteOld(store, new Date()), { onFailure, everyMs });
}

async function deleteOld(store: Store, now: Date): Promise<void> {
  const kept: Settings['retentionDays'] | undefined = (await store.settings.get(SETTINGS_ID))?.retentionDays;
  if (!kept) return;
  const { audit, runs = RUN_DAYS, threads = null } = kept;
  const before = (days: number) => new Date(now.getTime() - days * DAY_MS).toISOString();
  if (!(await rollUp(store, now))) return; // the figures of what is deleted stay
  if (audit !== null) await store.audit.prune(before(audit));
  if (runs !== null) for (const name of RUNS) await deleteRuns(store, name, before(runs));
  if (threads !== null) await deleteThreads(store, before(threads));
}

const RUNS = ['agentRuns', 'flowRuns'] as const;

async function deleteRuns(store: Store, name: (typeof RUNS)[number], to: string): Promise<void> {
  const reader: Pick<Reader<Position & { readonly status: string }>, 'find'> = store[name];
  for await (const runs of pagesOf(reader, { to, order: 'oldest', limit: BATCH })) {
    const ended = runs.filter(({ status }) => !['queued', 'running', 'waiting'].includes(status));
    if (ended.length === 0) continue;
    await store.transaction(async (tx) => {
      const writer: Pick<Writers[typeof name], 'get' | 'delete'> = tx[name];
      for (const { id } of ended) if (await writer.get(id)) await writer.delete(id);
    });
  }
}

/** Threads in which nothing was said or changed since then. */
async function deleteThreads(store: Store, to: string): Promise<void> {
  for await (const threads of pagesOf(store.threads, { to, order: 'oldest', limit: BATCH })) {
    for (const { id } of threads.filter((thread) => isUnused(thread, to))) {
      await store.transaction(async (tx) => {
        const thread = await tx.threads.get(id);
        if (thread && isUnused(thread, to)) await removeThread(tx, thread);
      });
    }
  }
}
