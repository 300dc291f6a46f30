import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../resources/durations.ts';
import { SETTINGS_ID } from '../../resources/settings.ts';
import type { UsageHour } from '../../resources/usage.ts';
import { pagesOf } from '../../store/pages.ts';
import { type PeriodicTask, startLeaderTask } from '../../store/periodic-task.ts';
import type { Readers, Store } from '../../store/port.ts';
import { firstHour, hourOf, type Source, type Span, sourcesOf } from './sources.ts';

const EVERY_MS = 5 * MINUTE_MS;
/** A call is entered when it ends, at the time when it began. No call lasts longer than this. */
const LATEST_MS = HOUR_MS;
/** Hours of this time are compared with what is there now, in case something came later nevertheless. */
const COMPARED_MS = 12 * HOUR_MS;
export const USAGE_DAYS = 730;
const BATCH = 500;

const closing = new WeakSet<Store>();
/** Concurrent callers wait for the same work. */
const underWay = new WeakMap<Store, Promise<boolean>>();

/** Keeps the figures of hours that are over, in one process for all: now and every few minutes. It closes between two hours. */
export function startRollUps(store: Store, now: () => Date, onFailure: (cause: unknown) => void): PeriodicTask {
  const work = async () => void (await rollUp(store, now()));
  const repeated = startLeaderTask(store.jobs, work, { onFailure, everyMs: EVERY_MS });
  return {
    close() {
      closing.add(store);
      return repeated.close();
    },
  };
}

/** Keeps the figures of ended hours and removes old ones. False if the server closed before all were kept. */
export function rollUp(store: Store, now: Date): Promise<boolean> {
  const known = underWay.get(store);
  if (known) return known;
  const work = rollUpAll(store, now).finally(() => underWay.delete(store));
  underWay.set(store, work);
  return work;
}

async function rollUpAll(store: Store, now: Date): Promise<boolean> {
  const ended = hourOf(now.getTime() - LATEST_MS);
  for (const source of sourcesOf(store)) {
    const newest = await store.usageHours.first({ where: { source: source.name } });
    const next = newest ? Date.parse(newest.createdAt) + HOUR_MS : 0;
    // A clock that was ahead kept hours that are not over yet.
    const span = { from: Math.min(next, ended - COMPARED_MS), to: Math.max(next, ended) };
    if (!(await rollUpSpan(store, source, span))) return false;
  }
  await deleteOld(store, now);
  return true;
}

/** Hours without anything are passed over together. */
async function rollUpSpan(store: Store, source: Source, { from, to }: Span): Promise<boolean> {
  for (let hour = await firstHour(source, { from, to }); hour !== undefined; ) {
    if (closing.has(store)) return false;
    await rollUpHour(store, source, hour);
    hour = await firstHour(source, { from: hour + HOUR_MS, to });
  }
  return true;
}

async function rollUpHour(store: Store, source: Source, hour: number): Promise<void> {
  const span = { from: hour, to: hour + HOUR_MS };
  const id = idOf(source, hour);
  const counted = await source.count(span);
  const known = await store.usageHours.get(id);
  if (counted <= (known?.counted ?? 0) || !(await source.isOver(span))) return;
  const cells = (await source.hours(span)).get(hour)?.pack();
  if (cells === undefined) return;
  const figures = { source: source.name, counted, cells };
  await store.transaction(async (tx) => {
    if (await tx.usageHours.get(id)) await tx.usageHours.update(id, figures);
    else await tx.usageHours.insert({ id, createdAt: new Date(hour).toISOString(), ...figures });
  });
}

function idOf({ name }: Source, hour: number): string {
  return `${name}-${new Date(hour).toISOString().slice(0, 13)}`;
}

export async function* storedHours(
  { usageHours }: Pick<Readers, 'usageHours'>,
  { name: source }: Pick<Source, 'name'>,
  { from, to }: Span,
): AsyncGenerator<UsageHour, void> {
  const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const query = { where: { source }, ...range, order: 'oldest', limit: BATCH } as const;
  for await (const page of pagesOf(usageHours, query)) yield* page;
}

async function deleteOld(store: Store, now: Date): Promise<void> {
  const { usage = USAGE_DAYS } = (await store.settings.get(SETTINGS_ID))?.retentionDays ?? {};
  if (usage === null) return;
  const to = new Date(now.getTime() - usage * DAY_MS).toISOString();
  for (;;) {
    const { records } = await store.usageHours.find({ to, order: 'oldest', limit: BATCH });
    if (records.length === 0) return;
    await store.transaction(async (tx) => {
      for (const { id } of records) if (await tx.usageHours.get(id)) await tx.usageHours.delete(id);
    });
  }
}
