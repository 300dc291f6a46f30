import { z } from 'zod';
import { pageOf, paging } from '../../resources/fields.ts';
import { type TimelineEntry, timelineEntry } from '../../resources/product-user.ts';
import type { Position } from '../../store/port.ts';
import { type ImportedModel, paidUntil, websiteHistory } from '../analytics/exports.ts';
import { defineTool, READS } from '../registry/define-tool.ts';
import { countFitting, openCursor, pageBody } from '../registry/paging.ts';
import { findUser, userId } from './find-user.ts';

export const getUserTimeline = defineTool({
  name: 'get_user_timeline',
  title: 'Get user timeline',
  description:
    'Read the history of a user, newest first: product events, subscriptions, invoices, websites, sign-up. Returns a page.',
  access: { scope: 'users:read', grant: 'user:read:{userId}' },
  annotations: READS,
  input: z.strictObject({ userId, ...paging }),
  output: pageOf(timelineEntry),
  errors: ['not_found'],

  async handler({ userId: uid, limit: count, cursor: given, includeTotal }, { server, fail }) {
    const model = await server.imported.current();
    findUser(model, uid, fail);
    const after = openCursor(given, { uid });
    const ofRecords = recordEntries(model, uid, server.now().getTime());
    const entries: Pending[] = [...ofRecords, ...eventEntries(model, uid, count + 1, after)]
      .filter((entry) => !after || comparePlaces(placeOf(entry), after) < 0)
      .sort((a, b) => comparePlaces(placeOf(b), placeOf(a)));
    const wanted = entries.slice(0, count);
    const positions = wanted.flatMap(({ position }) => position ?? []);
    const rows = new Map((await server.imported.rowsAt(positions)).map((row) => [row.position, row.row]));
    const completed = wanted.map(({ position, ...entry }) =>
      position === undefined ? entry : eventEntry(entry, rows.get(position)),
    );
    const records = completed.slice(0, countFitting(completed));
    const last = records.at(-1);
    const next = entries.length > records.length && last ? placeOf(last) : null;
    const total = includeTotal && { total: ofRecords.length + model.events.countOf(uid) };
    return { ...pageBody({ records, next }, { uid }, (entry) => entry), ...total };
  },
});

/** An entry. The entry of an event is completed from the row log. */
type Pending = TimelineEntry & { readonly position?: number };

function placeOf({ at, id }: TimelineEntry): Position {
  return { createdAt: at, id };
}

function comparePlaces(a: Position, b: Position): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

/** The latest events at or before the place, with all events at the time of the last one. */
function eventEntries({ events }: ImportedModel, uid: string, count: number, after: Position | undefined): Pending[] {
  const found: Pending[] = [];
  let last = Number.NaN;
  let more = 0;
  const afterTime = after && Date.parse(after.createdAt);
  for (const row of events.ofUser(uid, afterTime === undefined ? undefined : afterTime + 1)) {
    const time = events.table.at('time', row);
    if (more >= count && time !== last) break;
    last = time;
    if (last !== afterTime) more += 1;
    const name = events.names.text(events.table.at('name', row));
    const position = events.table.at('position', row);
    found.push({
      id: `event:${String(position).padStart(16, '0')}`,
      at: new Date(last).toISOString(),
      type: 'event',
      subjectId: '',
      title: name,
      position,
    });
  }
  return found;
}

function eventEntry(entry: TimelineEntry, row: Readonly<Record<string, unknown>> | undefined): TimelineEntry {
  const properties = row?.properties as Record<string, unknown> | undefined; // the schema of event rows says so
  return { ...entry, subjectId: String(row?.id ?? ''), ...(properties && { properties }) };
}

/** All entries up to the time except product events. A user has tens of these. */
function recordEntries(model: ImportedModel, uid: string, now: number): TimelineEntry[] {
  const entries = [
    ...userEntries(model, uid),
    ...subscriptionEntries(model, uid),
    ...invoiceEntries(model, uid),
    ...websiteEntries(model, uid),
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

function userEntries({ users }: ImportedModel, uid: string): TimelineEntry[] {
  const row = users.get(uid);
  if (!row) return [];
  const created = entry('user.created', uid, row.createdAt, 'Signed up');
  return row.deletedAt === undefined ? [created] : [created, entry('user.deleted', uid, row.deletedAt, 'Deleted')];
}

function subscriptionEntries(model: ImportedModel, uid: string): TimelineEntry[] {
  return model.owned.subscriptions.of(uid).flatMap((id) => {
    const states = model.subscriptions.get(id);
    const row = states?.latest;
    if (!states || !row) return [];
    const entries = [entry('subscription.started', id, row.startedAt, `Subscribed to ${states.list[0]?.row.plan}`)];
    if (row.trialEnd !== undefined) entries.push(entry('trial.ended', id, row.trialEnd, 'Trial ended'));
    if (row.canceledAt !== undefined) entries.push(entry('subscription.canceled', id, row.canceledAt, 'Canceled'));
    const end = paidUntil(row);
    if (Number.isFinite(end)) entries.push(entry('subscription.ended', id, end, `${row.plan} ended`));
    for (const { from, row: changed } of states.list.slice(1)) {
      const { plan, amount, currency, quantity, status } = changed;
      entries.push(
        entry('subscription.changed', id, from, `Subscription changed`, { plan, amount, currency, quantity, status }),
      );
    }
    return entries;
  });
}

function invoiceEntries(model: ImportedModel, uid: string): TimelineEntry[] {
  return model.owned.invoices.of(uid).flatMap((id) => {
    const row = model.invoices.get(id);
    if (!row) return [];
    const { total, currency, status } = row;
    const issued = entry('invoice.issued', id, row.issuedAt, 'Invoice issued', { total, currency, status });
    return row.paidAt === undefined
      ? [issued]
      : [issued, entry('invoice.paid', id, row.paidAt, 'Invoice paid', { total, currency })];
  });
}

function websiteEntries(model: ImportedModel, uid: string): TimelineEntry[] {
  return model.owned.websites.of(uid).flatMap((id) => {
    const states = model.websites.get(id);
    const row = states?.latest;
    if (!states || !row) return [];
    const [, ...changes] = websiteHistory(states);
    return [
      entry('website.created', id, row.createdAt, `Created ${row.name}`, { url: row.url }),
      ...changes.map(({ time, state }) =>
        entry('website.state_changed', id, time, `${row.name} is ${state}`, { state }),
      ),
    ];
  });
}
