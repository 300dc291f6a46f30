import type { SettingsRecord } from '../../../resources/settings.ts';
import type { NamedQuery, Parameter, RowSnapshot } from '../../../store/rows-port.ts';
import { itemsOf, listOf } from '../../../store/sql/lists.ts';
import type { Period } from '../calendar.ts';
import { DAYS, inDay, isBefore, isIn, periodsFrom } from '../periods.sql.ts';
import { limitsOf } from '../request.ts';

/** The distinct active users of consecutive periods, of each and of all together. */
export async function activeUsersOf(
  rows: RowSnapshot,
  settings: Pick<SettingsRecord, 'analytics'>,
  periods: readonly Pick<Period, 'start' | 'end'>[],
): Promise<{ readonly total: number; readonly each: readonly number[] }> {
  const found = await rows.query<{ period: number | null; users: number }>(activeUsersByPeriod, [
    limitsOf(periods),
    ...activityParameters(settings),
  ]);
  const byPeriod = new Map(found.map(({ period, users }) => [period, users]));
  return { total: byPeriod.get(null) ?? 0, each: periods.map((_, at) => byPeriod.get(at + 1) ?? 0) };
}

const { isIn: isInDay, period } = inDay('at_ms');

/** `activity (person, at_ms)`: the events that make a user active, by the settings: those of all names or of some. */
function activityFrom(kind: string, names: string): string {
  return `activity as not materialized (
    select person, at_ms from events where ${kind} = 'all' or name in ${itemsOf(names)}
  )`;
}

/** The parameters of `activityFrom`. */
export function activityParameters({ analytics }: Pick<SettingsRecord, 'analytics'>): [Parameter, Parameter] {
  const { activityEvents } = analytics;
  return activityEvents === 'all' ? ['all', ''] : ['some', listOf(activityEvents)];
}

/** Distinct users with activity in each period, and with the period null in all of them. $1: limits of the periods. $2, $3: activity. */
const activeUsersByPeriod: NamedQuery = {
  name: 'active users by period',
  sql: `
  with ${periodsFrom('$1')},
  ${activityFrom('$2', '$3')}
  select period, count(distinct person) as users
  from activity join cells on ${isIn('at_ms')}
  group by grouping sets ((period), ())`,
};

/**
 * Distinct users with activity on each day (dau), in the 7 days (wau) and in the 30 days (mau) that end with it, and how many of the users are
 * active on no later one of the days (leaving). A user who was active on a day is among those of the 7 days from then on until 7 days later, or
 * until the user's next active day, from which on that one counts; so each active day adds one user on its day and takes one away later, and
 * the numbers are the running sums. $1: limits of the days. $2, $3: activity.
 */
export const activeUsersByDay: NamedQuery = {
  name: 'active users by day',
  sql: `
  with ${periodsFrom('$1')},
  ${DAYS},
  ${activityFrom('$2', '$3')},
  activities as (
    select person, ${period} as day from activity join days on ${isInDay}
  ),
  stretches as (
    select day, lead(day) over (partition by person order by day) as next_day from activities
  ),
  -- only the last activity of a user on a day is followed by another day
  counted as materialized (
    select
      day, case when next_day < day + 30 then next_day else day + 30 end as until_day,
      count(*) as users, count(case when next_day is null then 1 end) as leaving
    from stretches
    where next_day is null or next_day > day
    group by day, until_day
  ),
  changes as (
    select day, users as dau, users as wau, users as mau, leaving from counted
    union all
    select case when until_day < day + 7 then until_day else day + 7 end, 0, -users, 0, 0 from counted
    union all
    select until_day, 0, 0, -users, 0 from counted
  ),
  changed as (
    select day, sum(dau) as dau, sum(wau) as wau, sum(mau) as mau, sum(leaving) as leaving from changes group by day
  )
  select
    period as day,
    cast(coalesce(dau, 0) as bigint) as dau,
    cast(coalesce(sum(wau) over (order by period), 0) as bigint) as wau,
    cast(coalesce(sum(mau) over (order by period), 0) as bigint) as mau,
    cast(coalesce(leaving, 0) as bigint) as leaving
  from periods left join changed on day = period
  order by period`,
};

/** How many users of each cohort (first active ever in that period) are active in each period. $1: limits of the periods. $2, $3: activity. */
export const activeUsersByCohort: NamedQuery = {
  name: 'active users by cohort',
  sql: `
  with ${periodsFrom('$1')},
  ${DAYS},
  ${activityFrom('$2', '$3')},
  -- who was active before all periods was so in period 0, and is in no cohort
  active as materialized (
    select distinct person, ${period} as period from activity join days on ${isInDay}
    union all
    select distinct person, 0 from activity where ${isBefore('at_ms')}
  ),
  cohorts as (
    select person, min(period) as cohort from active group by person having min(period) > 0
  ),
  sizes as materialized (
    select cohort, period, count(*) as users
    from cohorts join active on active.person = cohorts.person
    group by cohort, period
  )
  select cohort, string_agg(cast(period as text), ' ' order by period) as periods, string_agg(cast(users as text), ' ' order by period) as users
  from sizes
  group by cohort`,
};
