import { Cron } from 'croner';
import type { Store } from '../../store/port.ts';
import { addDays } from '../../tools/analytics/calendar.ts';
import { queueRun } from '../../tools/flows/run-queue.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import type { Config } from '../config/config.ts';
import { type FirstStart, prepareStore } from '../launch/first-start.ts';
import { eventRows, visitRows } from './activity.ts';
import { invoiceRows, makeSubscriptions, subscriptionRows, userRows } from './customers.ts';
import type { Sealing } from './registry.ts';
import { DAY, iso, type LoggedStatement, loggedBy, type Statement, spanUntil } from './story.ts';
import { makeUsers, websiteRows } from './users.ts';
import { type DemoClock, FOUNDED, fillWorkspace } from './workspace.ts';

const STEP = 10_000;

/** Fills an empty store with the demo workspace as if it had been used for months. The store must run on the clock. */
export async function fillDemo(
  store: Store,
  clock: DemoClock,
  config: Pick<Config, 'adminEmail' | 'bootstrapKey'> & Sealing,
): Promise<FirstStart> {
  const now = clock.now();
  const today = iso(now.getTime()).slice(0, 10);
  clock.set(Date.parse(addDays(today, FOUNDED)));
  await prepareSettings(store);
  const first = await prepareStore(store, config);
  await fillWorkspace(store, clock, { today, ...config });
  clock.release();
  const rows = loggedBy(now.getTime(), demoStatements(today));
  await importRows(store, rows);
  await queueLastSchedule(store, now);
  return first;
}

async function importRows(store: Store, rows: readonly LoggedStatement[]): Promise<void> {
  const types = [...new Set(rows.map(({ type }) => type))];
  for (const type of types) {
    const own = rows.filter((row) => row.type === type);
    for (let from = 0; from < own.length; from += STEP) {
      const part = own.slice(from, from + STEP);
      const staged = await store.rows.stage({ type, rows: part.map(({ row }) => row), at: part.map(({ at }) => at) });
      await store.transaction(async (tx) => tx.rows.commit(staged)).finally(() => staged.discard());
    }
  }
}

/** Queues the run whose scheduled time came last, so that the server begins with it. */
async function queueLastSchedule(store: Store, now: Date): Promise<void> {
  const { records } = await store.flows.find({ where: { enabled: true }, limit: 100 });
  const flow = records.find(({ trigger }) => trigger.kind === 'cron');
  if (flow?.trigger.kind !== 'cron') throw new Error('The demo workspace has no flow with a schedule.');
  const { expression, timezone } = flow.trigger;
  const [at] = new Cron(expression, { paused: true, mode: '5-part', timezone }).previousRuns(1, now);
  if (!at) throw new Error(`The schedule ${expression} never came.`);
  const wish = {
    trigger: { kind: 'cron', at: at.toISOString() },
    input: { at: at.toISOString() },
    causes: [],
  } as const;
  await store.transaction((tx) => queueRun(tx, flow, wish));
}

/** All rows to import from two years of a small web site builder. The same date gives the same rows. */
export function demoStatements(today: string): Statement[] {
  const span = spanUntil(today);
  const users = makeUsers(span);
  const subscriptions = makeSubscriptions(span, users);
  // To the end of the day, whatever the time is, so that chance takes the same course all day.
  const until = Date.parse(today) + DAY;
  return [
    ...userRows(users, subscriptions),
    ...subscriptionRows(subscriptions),
    ...invoiceRows(subscriptions, until),
    ...eventRows(users, subscriptions, until),
    ...websiteRows(users),
    ...visitRows(span, users),
  ];
}
