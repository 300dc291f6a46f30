import { z } from 'zod';
import { pageOf, paging, time } from '../../resources/fields.ts';
import type { EventRow, InvoiceRow, SubscriptionRow, UserRow } from '../../resources/imported-rows.ts';
import { majorUnits } from '../../resources/minor-units.ts';
import { type TimelineEntry, timelineEntry } from '../../resources/product-user.ts';
import type { Position } from '../../store/port.ts';
import { hashOf, rowOf, type TableRow } from '../../store/rows/records.ts';
import type { RowStore } from '../../store/rows-port.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { countFitting, openCursor, pageBody } from '../core/registry/paging.ts';
import {
  eventsCount,
  eventsPage,
  findUser,
  type LatestStatement,
  paidUntil,
  readInvoices,
  subscriptionsOf,
  userId,
  websiteSteps,
  websitesOf,
} from './user-rows.ts';

export const getUserTimeline = defineTool({
  name: 'get_user_timeline',
  title: 'Get user timeline',
  description:
    'Read the history of a user, newest first: product events, subscriptions, invoices, websites, sign-up. Returns a page.',
  keywords:
    'customer activity, what a customer did, events of a user, history of an account, journey, activity of a customer, what has a customer done lately',
  access: { scope: 'users:read', grant: 'user:read:{userId}' },
  annotations: READS,
  input: z.strictObject({
    userId,
    type: timelineEntry.shape.type.optional().describe('Entries of this type only.'),
    from: time.optional().describe('Inclusive.'),
    to: time.optional().describe('Exclusive.'),
    ...paging,
  }),
  output: pageOf(timelineEntry),
  errors: ['not_found'],

  async handler({ userId: named, type, from, to, limit: count, cursor: given, includeTotal }, { server, fail }) {
    const { rows } = server;
    const user = await findUser(rows, named, fail);
    const { uid } = user;
    const query = { uid, type, from, to };
    const after = openCursor(given, query);
    const ofRecords = (await recordEntries(rows, user, server.now().getTime())).filter((one) => isWanted(one, query));
    const entries = [...ofRecords, ...(await eventEntries(rows, query, count + 1, after))]
      .filter((entry) => !after || comparePlaces(placeOf(entry), after) < 0)
      .sort((a, b) => comparePlaces(placeOf(b), placeOf(a)));
    const wanted = entries.slice(0, count);
    const records = wanted.slice(0, countFitting(wanted));
    const last = records.at(-1);
    const next = entries.length > records.length && last ? placeOf(last) : null;
    const total = includeTotal && { total: ofRecords.length + (await countEvents(rows, query)) };
    return { ...pageBody({ records, next }, query, (entry) => entry), ...total };
  },
});

function placeOf({ at, id }: TimelineEntry): Position {
  return { createdAt: at, id };
}

function comparePlaces(a: Position, b: Position): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

interface TimelineQuery {
  readonly uid: string;
  readonly type: TimelineEntry['type'] | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

function isWanted({ type, at }: TimelineEntry, query: TimelineQuery): boolean {
  if (query.type !== undefined && type !== query.type) return false;
  const ms = Date.parse(at);
  return (
    (query.from === undefined || ms >= Date.parse(query.from)) && (query.to === undefined || ms < Date.parse(query.to))
  );
}

function hasEvents({ type }: TimelineQuery): boolean {
  return type === undefined || type === 'event';
}

function parametersOf({ uid, from, to }: TimelineQuery) {
  const ms = (time: string | undefined) => (time === undefined ? null : Date.parse(time));
  return [uid, hashOf(uid), ms(from), ms(to)];
}

async function eventEntries(
  rows: RowStore,
  query: TimelineQuery,
  count: number,
  after: Position | undefined,
): Promise<TimelineEntry[]> {
  if (!hasEvents(query)) return [];
  const place = after ? [Date.parse(after.createdAt), seqBefore(after.id)] : [null, null];
  const found = await rows.query<TableRow>(eventsPage, [...parametersOf(query), ...place, count]);
  return found.map((record) => {
    const { id, at, name, properties } = rowOf<EventRow>('events', record);
    const place = `${EVENT}${String(record.seq).padStart(SEQ_DIGITS, '0')}`;
    return { id: place, at, type: 'event', subjectId: id, title: name, ...(properties && { properties }) };
  });
}

const EVENT = 'event:';
const SEQ_DIGITS = 16;

/** Events at the time of the entry follow it if they came before this in the order of arrival. */
function seqBefore(id: string): number {
  if (id.startsWith(EVENT)) return Number(id.slice(EVENT.length));
  return id > EVENT ? Number.MAX_SAFE_INTEGER : 0;
}

async function countEvents(rows: RowStore, query: TimelineQuery): Promise<number> {
  if (!hasEvents(query)) return 0;
  const [found] = await rows.query<{ count: number }>(eventsCount, parametersOf(query));
  return found?.count ?? 0;
}

/** All entries up to the time except product events. A user has tens of these. */
async function recordEntries(rows: RowStore, user: UserRow, now: number): Promise<TimelineEntry[]> {
  const entries = [
    ...userEntries(user),
    ...(await subscriptionsOf(rows, user.uid)).flatMap(subscriptionEntries),
    ...(await readInvoices(rows, user.uid)).flatMap(invoiceEntries),
    ...(await websiteEntries(rows, user.uid)),
  ];
  return entries.filter(({ at }) => Date.parse(at) <= now);
}

function entry(
  type: TimelineEntry['type'],
  subjectId: string,
  time: string | number,
  title: string,
  properties?: Record<string, unknown>,
): TimelineEntry {
  const at = new Date(time).toISOString();
  return {
    id: `${type}:${subjectId}:${Date.parse(at)}`,
    at,
    type,
    subjectId,
    title,
    ...(properties && { properties }),
  };
}

function userEntries({ uid, createdAt, deletedAt }: UserRow): TimelineEntry[] {
  const created = entry('user.created', uid, createdAt, 'Signed up');
  return deletedAt === undefined ? [created] : [created, entry('user.deleted', uid, deletedAt, 'Deleted')];
}

function subscriptionEntries({ id, list, latest }: LatestStatement<SubscriptionRow>): TimelineEntry[] {
  const entries = [entry('subscription.started', id, latest.startedAt, `Subscribed to ${list[0]?.row.plan}`)];
  if (latest.trialEnd !== undefined) entries.push(entry('trial.ended', id, latest.trialEnd, 'Trial ended'));
  if (latest.canceledAt !== undefined) entries.push(entry('subscription.canceled', id, latest.canceledAt, 'Canceled'));
  const end = paidUntil(latest);
  if (Number.isFinite(end)) entries.push(entry('subscription.ended', id, end, `${latest.plan} ended`));
  for (const { from, row: changed } of list.slice(1)) {
    const { plan, currency, quantity, status } = changed;
    const amount = majorUnits(changed.amount, currency);
    entries.push(
      entry('subscription.changed', id, from, `Subscription changed`, { plan, amount, currency, quantity, status }),
    );
  }
  return entries;
}

function invoiceEntries({ id, issuedAt, paidAt, total: minor, currency, status }: InvoiceRow): TimelineEntry[] {
  const total = majorUnits(minor, currency);
  const issued = entry('invoice.issued', id, issuedAt, 'Invoice issued', { total, currency, status });
  return paidAt === undefined
    ? [issued]
    : [issued, entry('invoice.paid', id, paidAt, 'Invoice paid', { total, currency })];
}

async function websiteEntries(rows: RowStore, uid: string): Promise<TimelineEntry[]> {
  const websites = await websitesOf(rows, uid);
  const steps = await websiteSteps(
    rows,
    websites.map(({ id }) => id),
  );
  return websites.flatMap(({ id, latest: { createdAt, name, url } }) => {
    const [, ...changes] = steps.get(id) ?? [];
    return [
      entry('website.created', id, createdAt, `Created ${name}`, { url }),
      ...changes.map(({ time_ms, state }) =>
        entry('website.state_changed', id, time_ms, `${name} is ${state}`, { state }),
      ),
    ];
  });
}
