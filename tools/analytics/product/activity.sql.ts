import type { SettingsRecord } from '../../../resources/settings.ts';
import type { NamedQuery, Parameter } from '../../../store/rows-port.ts';
import { itemsOf, listOf } from '../../../store/sql/lists.ts';
import { isIn, periodsFrom } from '../periods.sql.ts';

/** `activity (person, at_ms)`: the events that make a user active, by the settings: those of all names or of some. */
export function activityFrom(kind: string, names: string): string {
  return `activity as (
    select person, at_ms from events where ${kind} = 'all' or name in ${itemsOf(names)}
  )`;
}

/** The parameters of `activityFrom`. */
export function activityParameters({ analytics }: Pick<SettingsRecord, 'analytics'>): [Parameter, Parameter] {
  const { activityEvents } = analytics;
  return activityEvents === 'all' ? ['all', ''] : ['some', listOf(activityEvents)];
}

/** Distinct users with activity in each period, and with the period null in all of them. $1: limits of the periods. $2, $3: activity. */
export const activeUsersByPeriod: NamedQuery = {
  name: 'active users by period',
  sql: `
  with ${periodsFrom('$1')},
  ${activityFrom('$2', '$3')}
  select period, count(distinct person) as users
  from activity join cells on ${isIn('at_ms')}
  group by grouping sets ((period), ())`,
};

/**
 * Distinct users with activity on each day (dau), in the 7 days (wau) and in the 30 days (mau) that end with it. A user who was active on
 * a day is among those of the 7 days from then on until 7 days later, or until the user's next active day, from which on that one counts; so
 * each active day adds one user on its day and takes one away later, and the numbers are the running sums. $1: limits of the days. $2, $3:
 * activity.
 */
export const activeUsersByDay: NamedQuery = {
  name: 'active users by day',
  sql: `
  with ${periodsFrom('$1')},
  ${activityFrom('$2', '$3')},
  active_days as (
    select distinct person, period as day
    from activity join cells on ${isIn('at_ms')}
  ),
  stretches as (
    select day, lead(day) over (partition by person order by day) as next_day from active_days
  ),
  changes as (
    select day, 1 as dau, 1 as wau, 1 as mau from stretches
    union all
    select case when next_day < day + 7 then next_day else day + 7 end, 0, -1, 0 from stretches
    union all
    select case when next_day < day + 30 then next_day else day + 30 end, 0, 0, -1 from stretches
  ),
  changed as (
    select day, sum(dau) as dau, sum(wau) as wau, sum(mau) as mau from changes group by day
  )
  select
    period as day,
    cast(coalesce(dau, 0) as bigint) as dau,
    cast(coalesce(sum(wau) over (order by period), 0) as bigint) as wau,
    cast(coalesce(sum(mau) over (order by period), 0) as bigint) as mau
  from periods left join changed on day = period
  order by period`,
};

/**
 * For each cohort, the users whose first activity ever is in one period, how many of them are active in each period. $1: limits of the
 * periods. $2, $3: activity.
 */
export const activeUsersByCohort: NamedQuery = {
  name: 'active users by cohort',
  sql: `
  with ${periodsFrom('$1')},
  ${activityFrom('$2', '$3')},
  active as (
    select person, period, min(at_ms) as first_ms
    from activity join cells on ${isIn('at_ms')}
    group by person, period
  ),
  firsts as (
    select person, min(at_ms) as first_ms from activity group by person
  ),
  cohorts as (
    select active.person, active.period as cohort
    from active join firsts on firsts.person = active.person and firsts.first_ms = active.first_ms
  ),
  sizes as (
    select cohort, active.period, count(*) as users
    from cohorts join active on active.person = cohorts.person
    group by cohort, active.period
  )
  select cohort, string_agg(cast(period as text), ' ' order by period) as periods, string_agg(cast(users as text), ' ' order by period) as users
  from sizes
  group by cohort`,
};
