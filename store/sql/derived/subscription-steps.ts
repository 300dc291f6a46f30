import type { DerivedTable } from '../derived-table.ts';
import { createTable } from '../raw-tables.ts';

/** When the paid time ends, as a statement says. An earlier announcement of the end does not count. */
export const PAID_UNTIL_MS = "coalesce(ended_ms, case when status = 'canceled' then canceled_ms end)";

/** When a statement begins to count: the first one with the subscription or its trial, if that is earlier. */
export const BEGINS_MS =
  'case when place = 0 then least(from_ms, started_ms, coalesce(trial_start_ms, started_ms)) else from_ms end';

/**
 * A subscription's way from phase to phase: from `time_ms` on until the next step it is in the phase and pays `mrr` a month, in whole
 * millionths of a minor unit of the workspace currency. A step at which phase, plan and MRR stay as they were is left out.
 *
 * - Each statement counts until the next one begins; the first from the start of the subscription or of its trial, if that is earlier.
 * - The end of the paid time (`ended_ms`, or `canceled_ms` of a canceled one) cuts the statement that names it and all before it, because an
 *   end is often imported after it happened.
 * - A trial without an end lasts as long as the status says so.
 * - MRR = (amount x quantity, less the discount while it runs) x rate x months / interval count, rounded to a whole millionth. The rate is
 *   that of the month in which the statement begins; without one the statement counts as nothing, and metrics warn of it.
 */
const steps = (terms: string) => `
  insert into subscription_steps
  with said as (
    select t.*,
      ${BEGINS_MS} as begins_ms,
      lead(from_ms) over later as until_ms,
      ${PAID_UNTIL_MS} as paid_until_ms,
      coalesce(trial_start_ms, started_ms) as trial_ms
    from ${terms} as t
    window later as (partition by id order by place)
  ),
  terms as (
    select said.*,
      min(paid_until_ms) over to_last as cut_ms,
      last_value(said.uid) over to_last as owner,
      cast(amount as double precision) * quantity as full_price,
      case when discount_percent is null then coalesce(discount_amount, 0)
        else cast(amount as double precision) * quantity * discount_percent / 100 end as discount,
      coalesce(factor, 0)
        * (case "interval" when 'day' then 365 when 'week' then 52 when 'month' then 12 else 1 end / cast(12 as double precision))
        * 1000000 / interval_count as monthly
    from said left join exchange_rates as r
      on r.currency = said.currency and begins_ms >= r.from_ms and begins_ms < r.to_ms
    window to_last as (partition by id order by place rows between current row and unbounded following)
  ),
  moments as (
    select distinct id, place, moment_ms
    from terms cross join lateral
      (values (begins_ms), (started_ms), (trial_ms), (trial_end_ms), (discount_ends_ms), (cut_ms)) as marks (moment_ms)
    where moment_ms >= begins_ms and (until_ms is null or moment_ms < until_ms)
  ),
  phases as (
    select id, owner as uid, moment_ms as time_ms, plan,
      case
        when moment_ms >= cut_ms then 'canceled'
        when moment_ms >= trial_ms and case when trial_end_ms is null then status = 'trialing' else moment_ms < trial_end_ms end
          then 'trialing'
        when moment_ms < started_ms then 'none'
        when status = 'past_due' then 'past_due'
        else 'active'
      end as phase,
      floor(monthly * case when discount_ends_ms is null or moment_ms < discount_ends_ms
        then greatest(0, full_price - discount) else full_price end + 0.5) as price
    from moments join terms using (id, place)
  ),
  paid as (
    select id, uid, time_ms, phase, plan,
      case when phase in ('active', 'past_due') then price else 0 end as mrr,
      count(case when phase <> 'none' then 1 end) over so_far as begun
    from phases
    window so_far as (partition by id order by time_ms)
  ),
  compared as (
    select *, lag(phase) over before as phase_before, lag(plan) over before as plan_before, lag(mrr) over before as mrr_before
    from paid
    where begun > 0
    window before as (partition by id order by time_ms)
  )
  select id, uid, time_ms,
    lead(time_ms) over steps as next_ms,
    phase, phase_before, plan, mrr,
    coalesce(mrr_before, 0) as mrr_before,
    phase in ('active', 'past_due') and count(case when phase in ('active', 'past_due') then 1 end) over steps = 1 as is_start
  from compared
  where phase_before is null or phase <> phase_before or plan <> plan_before or mrr <> mrr_before
  window steps as (partition by id order by time_ms)`;

export const subscriptionSteps: DerivedTable = {
  name: 'subscription_steps',
  ddl: [
    createTable('subscription_steps', {
      id: 'text',
      uid: 'text',
      time_ms: 'bigint',
      next_ms: 'bigint',
      phase: 'text',
      phase_before: 'text',
      plan: 'text',
      mrr: 'double precision',
      mrr_before: 'double precision',
      is_start: 'boolean',
    }),
  ],
  follows: ['subscriptions'],
  isConverted: true,
  renew: [
    'insert into touched_customers select uid from subscription_steps where id in (select id from touched_subscriptions)',
    'delete from subscription_steps where id in (select id from touched_subscriptions)',
    steps('(select * from subscription_terms where id in (select id from touched_subscriptions))'),
    'insert into touched_customers select uid from subscription_steps where id in (select id from touched_subscriptions)',
  ],
  rebuild: [steps('subscription_terms')],
};
