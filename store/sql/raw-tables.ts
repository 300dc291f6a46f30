import type { ColumnType } from './lists.ts';

type Columns = Readonly<Record<string, ColumnType>>;

/** The first columns of what imports said about a record over time, in the order in which it counts: `place` 0 first. */
const statement = {
  id: 'text',
  uid: 'text',
  place: 'integer',
  /** It counts from this time on. */
  from_ms: 'bigint',
  explicit: 'boolean',
  /** Of the statements that gave no time, the one that came last. */
  said_last: 'boolean',
  imported_ms: 'bigint',
} as const;

/** Imported rows. Times are epoch milliseconds, amounts minor units. `person` and `visitor` are 63-bit hashes, which are counted faster. */
export const rawTables = {
  users: {
    uid: 'text',
    email: 'text',
    status: 'text',
    name: 'text',
    country: 'text',
    created_ms: 'bigint',
    deleted_ms: 'bigint',
    payment_brand: 'text',
    payment_last4: 'text',
    /** Uid, e-mail and name in the form in which they are searched. */
    searched: 'text',
    plan: 'text',
  },
  subscription_terms: {
    ...statement,
    plan: 'text',
    amount: 'bigint',
    currency: 'text',
    interval: 'text',
    interval_count: 'integer',
    quantity: 'bigint',
    discount_percent: 'double precision',
    discount_amount: 'bigint',
    discount_ends_ms: 'bigint',
    status: 'text',
    trial_start_ms: 'bigint',
    trial_end_ms: 'bigint',
    started_ms: 'bigint',
    canceled_ms: 'bigint',
    ended_ms: 'bigint',
  },
  invoices: {
    id: 'text',
    uid: 'text',
    subscription_id: 'text',
    total: 'bigint',
    tax: 'bigint',
    currency: 'text',
    status: 'text',
    issued_ms: 'bigint',
    paid_ms: 'bigint',
  },
  events: {
    id: 'text',
    uid: 'text',
    person: 'bigint',
    name: 'text',
    at_ms: 'bigint',
    properties: 'text',
    /** Order of arrival. */
    seq: 'bigint',
  },
  visits: {
    id: 'text',
    visitor_id: 'text',
    visitor: 'bigint',
    uid: 'text',
    person: 'bigint',
    at_ms: 'bigint',
    page: 'text',
    referrer: 'text',
    /** As imported, otherwise derived from the referrer. */
    channel: 'text',
    channel_given: 'boolean',
    country: 'text',
    device: 'text',
    browser: 'text',
    os: 'text',
    seq: 'bigint',
  },
  website_states: {
    ...statement,
    url: 'text',
    name: 'text',
    state: 'text',
    created_ms: 'bigint',
    published_ms: 'bigint',
  },
} as const satisfies Readonly<Record<string, Columns>>;

export type RawTable = keyof typeof rawTables;

/** Minor units of the workspace currency for one minor unit of the currency, in [from_ms, to_ms). */
export const exchangeRates = {
  currency: 'text',
  from_ms: 'bigint',
  to_ms: 'bigint',
  factor: 'double precision',
} as const satisfies Columns;
export const ratesInUse = { digest: 'text' } as const satisfies Columns;

/** `interval` is a word of SQL. */
export const quoted = (column: string) => (column === 'interval' ? '"interval"' : column);

export function createTable(name: string, columns: Columns, kind = 'table'): string {
  const list = Object.entries(columns).map(([column, type]) => `${quoted(column)} ${type}`);
  return `create ${kind} if not exists ${name} (${list.join(', ')})`;
}
