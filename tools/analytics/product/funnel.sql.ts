import type { NamedQuery } from '../../../store/rows-port.ts';
import { decoded } from '../../../store/sql/lists.ts';
import { DAY_MS } from '../periods.sql.ts';

/**
 * How many users pass each step of the funnel, and the median time from the step before. A user passes the first step with the first event
 * of its name in the range, and every other step with the first event of its name that is later than the event that passed the step before,
 * and in the range. $1, $2: numbers of the steps, from 1 on, and names of their events, as pairs. $3, $4: start and end of the range.
 */
export const passagesOfSteps: NamedQuery = {
  name: 'passages of the funnel',
  sql: `
  with recursive steps as (
    select ${decoded('step', 'integer')} as step, ${decoded('name', 'text')} as name
    from (
      select unnest(string_to_array($1, chr(31))) as step, unnest(string_to_array($2, chr(31))) as name
    ) as pairs
  ),
  happened as (
    select person, step, at_ms
    from events join steps on steps.name = events.name
    where at_ms >= cast($3 as bigint) and at_ms < cast($4 as bigint)
      -- the days of the range, as PostgreSQL has an index of days
      and at_ms / ${DAY_MS} >= cast($3 as bigint) / ${DAY_MS} and at_ms / ${DAY_MS} <= cast($4 as bigint) / ${DAY_MS}
  ),
  passed as (
    select step, person, min(at_ms) as at_ms, cast(null as bigint) as waited_ms
    from happened where step = 1
    group by step, person
    union all
    select step, person, at_ms, waited_ms
    from (
      select
        happened.step, passed.person, happened.at_ms, happened.at_ms - passed.at_ms as waited_ms,
        row_number() over (partition by passed.person order by happened.at_ms) as place
      from passed join happened
        on happened.person = passed.person and happened.step = passed.step + 1 and happened.at_ms > passed.at_ms
    ) as later
    where place = 1
  )
  select step, count(*) as users, percentile_cont(0.5) within group (order by waited_ms) as median_ms
  from passed
  group by step`,
};
