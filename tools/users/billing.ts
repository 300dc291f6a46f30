import type { z } from 'zod';
import { DAY_MS } from '../../resources/durations.ts';
import type { UserRow } from '../../resources/imported-rows.ts';
import { majorUnits } from '../../resources/minor-units.ts';
import type { userBilling } from '../../resources/product-user.ts';
import type { SettingsRecord } from '../../resources/settings.ts';
import type { NamedQuery, RowSnapshot } from '../../store/rows-port.ts';
import { PAID_UNTIL_MS } from '../../store/sql/derived/subscription-steps.ts';
import { MICROS, Money } from '../analytics/exports.ts';

const MOST_INVOICES = 100;

/** What a user pays at the time. */
export async function billingOf(
  user: UserRow,
  settings: SettingsRecord,
  rows: RowSnapshot,
  now: number,
): Promise<z.input<typeof userBilling>> {
  const money = new Money(settings);
  const { uid } = user;
  const subscriptions = (await rows.query<SubscriptionNow>(subscriptionsOfUser, [uid, now])).toSorted(
    (a, b) => b.mrr - a.mrr || rank(b.phase) - rank(a.phase),
  );
  const [main] = subscriptions;
  const [{ paid } = { paid: 0 }] = await rows.query<{ paid: number }>(paidByUser, [uid]);
  const invoices = await rows.query<InvoiceOfUser>(latestInvoices, [uid, MOST_INVOICES]);
  return {
    uid,
    plan: main?.plan ?? null,
    status: main?.phase ?? 'none',
    currency: money.currency,
    interval: main?.interval ?? null,
    mrr: money.major(subscriptions.reduce((sum, { mrr }) => sum + mrr, 0)),
    currentPeriodEnd: main && main.phase !== 'canceled' ? periodEnd(main, now) : null,
    trialEndsAt: main?.phase === 'trialing' ? iso(main.trial_end_ms) : null,
    cancelAt: iso(main?.paid_until_ms ?? null),
    lifetimeValue: money.major(paid * MICROS),
    paymentMethod: paymentMethodOf(user),
    invoices: invoices.map(showInvoice),
  };
}

function iso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

function paymentMethodOf({ paymentBrand: brand, paymentLast4: last4 }: UserRow) {
  return brand === undefined || last4 === undefined ? null : { brand, last4 };
}

/** Among subscriptions with equal revenue, the most active comes first, then the latest. */
function rank(phase: SubscriptionNow['phase']): number {
  return ['none', 'canceled', 'trialing', 'past_due', 'active'].indexOf(phase);
}

function showInvoice({ subscription_id, issued_ms, paid_ms, total, tax, ...rest }: InvoiceOfUser) {
  return {
    ...rest,
    ...(subscription_id !== null && { subscriptionId: subscription_id }),
    issuedAt: new Date(issued_ms).toISOString(),
    ...(paid_ms !== null && { paidAt: new Date(paid_ms).toISOString() }),
    total: majorUnits(total, rest.currency),
    tax: majorUnits(tax, rest.currency),
  };
}

/** The end of the current billing period or of the trial. Periods are counted from the end of the trial, or from the start. */
function periodEnd(row: SubscriptionNow, now: number): string {
  const anchor = new Date(row.trial_end_ms ?? row.started_ms);
  if (anchor.getTime() > now) return anchor.toISOString();
  const { interval, interval_count: intervalCount } = row;
  const days = { day: 1, week: 7, month: 30, year: 365 }[interval] * intervalCount;
  // Starts with a count that may be too low, and continues to the first period that has not ended.
  let count = Math.max(0, Math.floor((now - anchor.getTime()) / DAY_MS / (days * 1.04)) - 1);
  let end = anchor;
  while (end.getTime() <= now) {
    count += 1;
    end = later(anchor, interval, intervalCount * count);
  }
  return end.toISOString();
}

/** A month without this day ends on its last day: 31 January, 28 February, 31 March. */
function later(anchor: Date, interval: SubscriptionNow['interval'], count: number): Date {
  if (interval === 'day' || interval === 'week') {
    return new Date(anchor.getTime() + count * (interval === 'week' ? 7 : 1) * DAY_MS);
  }
  const months = anchor.getUTCMonth() + count * (interval === 'year' ? 12 : 1);
  const end = new Date(anchor);
  end.setUTCDate(1);
  end.setUTCMonth(months);
  const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
  end.setUTCDate(Math.min(anchor.getUTCDate(), lastDay));
  return end;
}

/** The subscriptions that belong to a user by what was said about them last. $1: the user. */
const OWN = `
    select id from subscription_terms as terms
    where uid = $1 and place = (select max(place) from subscription_terms as other where other.id = terms.id)`;

/** A user's subscriptions as they stand at a moment: what was said about each of them for that time, its phase and MRR. $2: the moment. */
const subscriptionsOfUser: NamedQuery = {
  name: 'subscriptions of a user',
  sql: `
    with said as (
      select terms.*,
        row_number() over (partition by id order by case when from_ms <= $2 then place else -1 - place end desc) as turn
      from subscription_terms as terms
      where id in (${OWN})
    )
    select said.id as id, said.plan as plan, "interval", interval_count, started_ms, trial_end_ms,
      ${PAID_UNTIL_MS} as paid_until_ms, coalesce(phase, 'none') as phase, coalesce(mrr, 0) as mrr
    from said left join subscription_steps as steps
      on steps.id = said.id and steps.time_ms <= $2 and (steps.next_ms is null or steps.next_ms > $2)
    where turn = 1
    order by mrr desc, started_ms desc, said.id collate "C" desc`,
};

interface SubscriptionNow {
  readonly id: string;
  readonly plan: string;
  readonly interval: 'day' | 'week' | 'month' | 'year';
  readonly interval_count: number;
  readonly started_ms: number;
  readonly trial_end_ms: number | null;
  readonly paid_until_ms: number | null;
  readonly phase: 'none' | 'trialing' | 'active' | 'past_due' | 'canceled';
  readonly mrr: number;
}

/** What a user paid so far without tax, in minor units of the workspace currency; invoices without an exchange rate count as nothing. */
const paidByUser: NamedQuery = {
  name: 'paid invoices of a user',
  sql: `
    select coalesce(sum((total - tax) * factor), 0) as paid
    from invoices join exchange_rates as r
      on r.currency = invoices.currency and issued_ms >= r.from_ms and issued_ms < r.to_ms
    where uid = $1 and status = 'paid'`,
};

const latestInvoices: NamedQuery = {
  name: 'latest invoices of a user',
  sql: `
    select id, subscription_id, currency, status, issued_ms, paid_ms, total, tax
    from invoices
    where uid = $1
    order by issued_ms desc, id collate "C" desc
    limit $2`,
};

interface InvoiceOfUser {
  readonly id: string;
  readonly subscription_id: string | null;
  readonly currency: string;
  readonly status: 'paid' | 'open' | 'void' | 'refunded';
  readonly issued_ms: number;
  readonly paid_ms: number | null;
  readonly total: number;
  readonly tax: number;
}
