import type { DerivedTable } from '../derived-table.ts';
import { createTable } from '../raw-tables.ts';

/**
 * When a customer's monthly revenue changes: from `time_ms` on until `next_ms` the customer pays `after`, until then `before`. What a
 * customer pays is the sum over the customer's subscriptions. The first change is always from nothing to more, and has no `previous_ms`.
 */
const changes = (steps: string) => `
  insert into customer_changes
  with changed as (
    select uid, time_ms, sum(mrr - mrr_before) as more
    from ${steps} as s
    group by uid, time_ms
    having sum(mrr - mrr_before) <> 0
  ),
  summed as (
    select uid, time_ms, more, sum(more) over (partition by uid order by time_ms) as after
    from changed
  )
  select uid, time_ms, lag(time_ms) over own as previous_ms, lead(time_ms) over own as next_ms,
    coalesce(lag(after) over own, 0) as before, after
  from summed
  window own as (partition by uid order by time_ms)`;

export const customerChanges: DerivedTable = {
  name: 'customer_changes',
  ddl: [
    createTable('customer_changes', {
      uid: 'text',
      time_ms: 'bigint',
      previous_ms: 'bigint',
      next_ms: 'bigint',
      before: 'double precision',
      after: 'double precision',
    }),
  ],
  follows: ['customers', 'subscriptions'],
  isConverted: true,
  renew: [
    'delete from customer_changes where uid in (select uid from touched_customers)',
    changes('(select * from subscription_steps where uid in (select uid from touched_customers))'),
  ],
  rebuild: [changes('subscription_steps')],
};
