import type { NamedQuery } from '../../../store/rows-port.ts';
import { decoded } from '../../../store/sql/lists.ts';

/**
 * For each feature: users with one of its events in the range; users whose first such event ever is in the range; such events in the range.
 * $1, $2: numbers of the features and names of their events, as pairs. $3, $4: start and end of the range.
 */
export const useOfFeatures: NamedQuery = {
  name: 'use of features',
  sql: `
  with names as (
    select ${decoded('feature', 'integer')} as feature, ${decoded('name', 'text')} as name
    from (
      select unnest(string_to_array($1, chr(31))) as feature, unnest(string_to_array($2, chr(31))) as name
    ) as pairs
  ),
  range as (select cast($3 as bigint) as from_ms, cast($4 as bigint) as to_ms),
  people as (
    select feature, person, min(at_ms) as first_ms, count(case when at_ms >= from_ms and at_ms < to_ms then 1 end) as uses
    from events join names on names.name = events.name cross join range
    group by feature, person
  )
  select
    feature,
    count(case when uses > 0 then 1 end) as users,
    count(case when first_ms >= from_ms and first_ms < to_ms then 1 end) as first_time_users,
    cast(sum(uses) as bigint) as uses
  from people cross join range
  group by feature`,
};
