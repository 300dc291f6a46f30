import type { RowType, SubscriptionRow, WebsiteRow } from '../../resources/imported-rows.ts';
import { channelOf } from './channel.ts';
import { hashOf } from './hash.ts';

/** An imported row, checked by the schema of its type, with its times in UTC. */
export type ImportedRow = Readonly<Record<string, unknown>>;
/** The same as the tables hold it. What is absent is undefined, or null where it was read. */
export type TableRow = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Types of which the last row of a key counts, each with its table of the same name. */
export const plainTypes = ['users', 'invoices', 'events', 'visits'] as const;
export type PlainType = (typeof plainTypes)[number];
/** Types of which each row is a statement about a time, each with its table. */
export const statedTables = { subscriptions: 'subscription_terms', websites: 'website_states' } as const;
export type StatedType = keyof typeof statedTables;

export const isStated = (type: RowType): type is StatedType => type in statedTables;

type Given = string | number | boolean | undefined;

const ms = (time: unknown) => (time === undefined ? undefined : Date.parse(String(time)));
const given = (value: unknown) => value as Given; // the schema of the type says which
const hashed = (text: unknown) => (text === undefined ? undefined : hashOf(String(text)));

const records: Readonly<Record<RowType, (row: ImportedRow) => TableRow>> = {
  users: (row) => ({
    uid: given(row.uid),
    email: given(row.email),
    status: given(row.status),
    name: given(row.name),
    country: given(row.country),
    created_ms: ms(row.createdAt),
    deleted_ms: ms(row.deletedAt),
    payment_brand: given(row.paymentBrand),
    payment_last4: given(row.paymentLast4),
  }),
  invoices: (row) => ({
    id: given(row.id),
    uid: given(row.uid),
    subscription_id: given(row.subscriptionId),
    total: given(row.total),
    tax: given(row.tax),
    currency: given(row.currency),
    status: given(row.status),
    issued_ms: ms(row.issuedAt),
    paid_ms: ms(row.paidAt),
  }),
  events: (row) => ({
    id: given(row.id),
    uid: given(row.uid),
    person: hashed(row.uid),
    name: given(row.name),
    at_ms: ms(row.at),
    properties: row.properties === undefined ? undefined : JSON.stringify(row.properties),
  }),
  visits: (row) => ({
    id: given(row.id),
    visitor_id: given(row.visitorId),
    visitor: hashed(row.visitorId),
    uid: given(row.uid),
    person: hashed(row.uid),
    at_ms: ms(row.at),
    page: given(row.page),
    referrer: given(row.referrer),
    channel: given(row.channel) ?? channelOf(row.referrer as string | undefined), // texts by the schema of visits
    channel_given: row.channel !== undefined,
    country: given(row.country),
    device: given(row.device),
    browser: given(row.browser),
    os: given(row.os),
  }),
  subscriptions: (row) => ({
    id: given(row.id),
    uid: given(row.uid),
    plan: given(row.plan),
    amount: given(row.amount),
    currency: given(row.currency),
    interval: given(row.interval),
    interval_count: given(row.intervalCount),
    quantity: given(row.quantity),
    discount_percent: given(row.discountPercent),
    discount_amount: given(row.discountAmount),
    discount_ends_ms: ms(row.discountEndsAt),
    status: given(row.status),
    trial_start_ms: ms(row.trialStart),
    trial_end_ms: ms(row.trialEnd),
    started_ms: ms(row.startedAt),
    canceled_ms: ms(row.canceledAt),
    ended_ms: ms(row.endedAt),
  }),
  websites: (row) => ({
    id: given(row.id),
    uid: given(row.uid),
    url: given(row.url),
    name: given(row.name),
    state: given(row.state),
    created_ms: ms(row.createdAt),
    published_ms: ms(row.publishedAt),
  }),
};

/** The row as its table holds it, without `seq` of events and what a table of statements says of the statement itself. */
export function recordOf(type: RowType, row: ImportedRow): TableRow {
  return records[type](row);
}

/** The time from which a statement counts that does not say so itself. */
export function countsFrom(type: StatedType, row: ImportedRow, importedMs: number, isFirst: boolean): number {
  // As nothing else is known, the first import of a subscription counts from its start.
  if (type === 'subscriptions') return isFirst ? Date.parse((row as SubscriptionRow).startedAt) : importedMs;
  const { state, publishedAt, createdAt } = row as WebsiteRow; // by the schema of its type
  if (state === 'published' && publishedAt !== undefined) return Date.parse(publishedAt);
  const known = isFirst && (state === 'draft' || state === 'published') && publishedAt === undefined;
  return known ? Date.parse(createdAt) : importedMs;
}
