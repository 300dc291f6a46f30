import type { NamedQuery } from '../../../store/rows-port.ts';
import { isBefore, isIn, periodsFrom } from '../periods.sql.ts';

/** How many subscriptions more are in the phase after the steps. */
const more = (phase: string) =>
  `count(case when phase = '${phase}' then 1 end) - count(case when phase_before = '${phase}' then 1 end)`;

/**
 * How many subscriptions stand in each phase at the end of each period, and how many started (active or past due for the first time) and
 * ended (became canceled) within, from subscription_steps. What stands at the end is the sum of all steps up to it. $1: limits of the periods.
 */
export const subscriptionsByPeriod: NamedQuery = {
  name: 'subscriptions by period',
  sql: `
    with ${periodsFrom('$1')},
    steps as (
      select 0 as period, phase, phase_before, is_start from subscription_steps where ${isBefore('time_ms')}
      union all
      select period, phase, phase_before, is_start from subscription_steps join cells on ${isIn('time_ms')}
    ),
    moved as (
      select period,
        ${more('trialing')} as trialing,
        ${more('active')} as active,
        ${more('past_due')} as past_due,
        ${more('canceled')} as canceled,
        count(case when is_start then 1 end) as started,
        count(case when phase = 'canceled' and (phase_before is null or phase_before <> 'canceled') then 1 end) as ended
      from steps
      group by period
    ),
    every as (select 0 as period union all select period from periods),
    standing as (
      select period,
        cast(coalesce(sum(trialing) over so_far, 0) as bigint) as trialing,
        cast(coalesce(sum(active) over so_far, 0) as bigint) as active,
        cast(coalesce(sum(past_due) over so_far, 0) as bigint) as past_due,
        cast(coalesce(sum(canceled) over so_far, 0) as bigint) as canceled,
        coalesce(started, 0) as started,
        coalesce(ended, 0) as ended
      from every left join moved using (period)
      window so_far as (order by period)
    )
    select trialing, active, past_due as "pastDue", canceled, started, ended from standing where period > 0 order by period`,
};

/** How many subscriptions of each plan stand in each phase at a moment, and what they pay a month, after every step before it. $1: the moment. */
export const plansAt: NamedQuery = {
  name: 'subscriptions by plan',
  sql: `
    with standing as (
      select plan, case when time_ms < $1 and (next_ms is null or next_ms >= $1) then phase end as phase, mrr from subscription_steps
    )
    select plan,
      count(case when phase = 'trialing' then 1 end) as trialing,
      count(case when phase = 'active' then 1 end) as active,
      count(case when phase = 'past_due' then 1 end) as "pastDue",
      count(case when phase = 'canceled' then 1 end) as canceled,
      sum(case when phase is null then 0 else mrr end) as mrr
    from standing
    group by plan`,
};
