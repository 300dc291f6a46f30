import type { NamedQuery } from '../../store/rows-port.ts';
import { isBefore, isIn, periodsFrom } from './periods.sql.ts';

/**
 * Users created in each period and users gone in it, and with the period 0 those of the time before. A user is gone from its deletion on,
 * or from its creation on where that is later. Users at the end of a period: all created until then less all gone until then. $1: limits of
 * the periods.
 */
export const usersByPeriod: NamedQuery = {
  name: 'users by period',
  sql: `
  with ${periodsFrom('$1')},
  changes as (
    select created_ms as at_ms, 1 as created, 0 as gone from users
    union all
    select greatest(created_ms, deleted_ms), 0, 1 from users where deleted_ms is not null
  ),
  placed as (
    select 0 as period, created, gone from changes where ${isBefore('at_ms')}
    union all
    select period, created, gone from changes join cells on ${isIn('at_ms')}
  )
  select period, cast(sum(created) as bigint) as created, cast(sum(gone) as bigint) as gone
  from placed
  group by period`,
};
