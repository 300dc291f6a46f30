import type { NamedQuery } from '../../store/rows-port.ts';
import { PAID_UNTIL_MS } from '../../store/sql/derived/subscription-steps.ts';

/** The subscriptions that belong to a user by what was said about them last. $1: the user. */
const OWN = `
    select id from subscription_terms as terms
    where uid = $1 and place = (select max(place) from subscription_terms as other where other.id = terms.id)`;

/** A user's subscriptions as they stand at a moment: what was said about each of them for that time, its phase and MRR. $2: the moment. */
export const subscriptionsOfUser: NamedQuery = {
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

export interface SubscriptionNow {
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
export const paidByUser: NamedQuery = {
  name: 'paid invoices of a user',
  sql: `
    select coalesce(sum((total - tax) * factor), 0) as paid
    from invoices join exchange_rates as r
      on r.currency = invoices.currency and issued_ms >= r.from_ms and issued_ms < r.to_ms
    where uid = $1 and status = 'paid'`,
};

/** The latest invoices of a user. $2: how many. */
export const latestInvoices: NamedQuery = {
  name: 'latest invoices of a user',
  sql: `
    select id, subscription_id, currency, status, issued_ms, paid_ms, total, tax
    from invoices
    where uid = $1
    order by issued_ms desc, id collate "C" desc
    limit $2`,
};

export interface InvoiceOfUser {
  readonly id: string;
  readonly subscription_id: string | null;
  readonly currency: string;
  readonly status: 'paid' | 'open' | 'void' | 'refunded';
  readonly issued_ms: number;
  readonly paid_ms: number | null;
  readonly total: number;
  readonly tax: number;
}
