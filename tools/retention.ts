import { ENDED } from '../resources/approval.ts';
import { DAY_MS } from '../resources/durations.ts';
import { SETTINGS_ID, type Settings } from '../resources/settings.ts';
import { pagesOf } from '../store/pages.ts';
import { type PeriodicTask, startLeaderTask } from '../store/periodic-task.ts';
import type { Position, Reader, Store, Writers } from '../store/port.ts';
import { hasEnded } from './flows/run-queue.ts';
import { isUnused, removeThread } from './threads/threads.ts';
import { rollUp } from './usage/roll-ups.ts';

/** Records that are looked at, or deleted in one transaction. */
const BATCH = 100;
/** Days for which runs are kept where the settings say nothing. */
export const RUN_DAYS = 30;

/** The same for approvals. */
export const APPROVAL_DAYS = 90;

/** Deletes audit entries, runs, threads and approvals that are older than the settings allow, now and once a day. */
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
  const { audit, runs = RUN_DAYS, threads = null, approvals = APPROVAL_DAYS } = kept;
  const before = (days: number) => new Date(now.getTime() - days * DAY_MS).toISOString();
  if (!(await rollUp(store, now))) return; // the figures of what is deleted stay
  if (audit !== null) await store.audit.prune(before(audit));
  if (runs !== null) for (const name of RUNS) await deleteRuns(store, name, before(runs));
  if (threads !== null) await deleteThreads(store, before(threads));
  if (approvals !== null) await deleteApprovals(store, before(approvals), now);
  await forgetArguments(store, before(1));
}

const RUNS = ['agentRuns', 'flowRuns'] as const;

async function deleteRuns(store: Store, name: (typeof RUNS)[number], to: string): Promise<void> {
  const reader: Pick<Reader<Position & { readonly status: string }>, 'find'> = store[name];
  for await (const runs of pagesOf(reader, { to, order: 'oldest', limit: BATCH })) {
    const ended = runs.filter(hasEnded);
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

/** Those that ended before. What was rejected stays refused until its approval would have expired. */
async function deleteApprovals(store: Store, to: string, now: Date): Promise<void> {
  const query = { where: { status: ENDED }, to, order: 'oldest', limit: BATCH } as const;
  for await (const approvals of pagesOf(store.approvals, query)) {
    const over = approvals.filter((each) => each.updatedAt < to && Date.parse(each.expiresAt) <= now.getTime());
    if (over.length === 0) continue;
    await store.transaction(async (tx) => {
      for (const { id } of over) if (await tx.approvals.get(id)) await tx.approvals.delete(id);
    });
  }
}

/** Of calls that their caller makes again, when their answers are no longer kept. */
async function forgetArguments(store: Store, to: string): Promise<void> {
  const query = { where: { status: 'done', repeats: true }, to, order: 'oldest', limit: BATCH } as const;
  for await (const approvals of pagesOf(store.approvals, query)) {
    const over = approvals.filter(({ sealed, updatedAt }) => sealed !== undefined && updatedAt < to);
    if (over.length === 0) continue;
    await store.transaction(async (tx) => {
      for (const { id } of over) if (await tx.approvals.get(id)) await tx.approvals.touch(id, { sealed: null });
    });
  }
}
