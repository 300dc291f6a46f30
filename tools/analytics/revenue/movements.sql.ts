import type { NamedQuery } from '../../../store/rows-port.ts';
import { isBefore, isIn, periodsFrom } from '../periods.sql.ts';

/**
 * What moved monthly recurring revenue in each period, from customer_changes. A change exactly at a limit belongs to the later period: what
 * ends with April does not exist at the start of May.
 *
 * - Per customer, `was` is what the customer paid at the start of the period, `pays` at its end.
 * - new: from 0, never paid before. reactivation: from 0, had paid before. expansion: from something to more. contraction: to less, but not
 *   to 0. churn: to 0.
 * - start = what all customers paid at the start; end = start + new + reactivation + expansion - contraction - churn.
 * - Customers are those who pay more than 0.
 *
 * $1: limits of the periods. Amounts are millionths of a minor unit.
 */
export const movementsByPeriod: NamedQuery = {
  name: 'movements of MRR by period',
  sql: `
    with ${periodsFrom('$1')},
    customers as (
      select period, uid,
        coalesce(sum(case when previous_ms is null or previous_ms < from_ms then before end), 0) as was,
        coalesce(sum(case when next_ms is null or next_ms >= to_ms then after end), 0) as pays,
        count(case when previous_ms < from_ms then 1 end) > 0 as had_paid
      from customer_changes join cells on ${isIn('time_ms')}
      group by period, uid
    ),
    moves as (
      select period, was, pays,
        case
          when was = 0 and pays > 0 then case when had_paid then 'reactivation' else 'new' end
          when was > 0 and pays = 0 then 'churn'
          when pays > was then 'expansion'
          else 'contraction'
        end as move
      from customers
    ),
    moved as (
      select period,
        sum(case when move = 'new' then pays else 0 end) as new,
        sum(case when move = 'reactivation' then pays else 0 end) as reactivation,
        sum(case when move = 'expansion' then pays - was else 0 end) as expansion,
        sum(case when move = 'contraction' then was - pays else 0 end) as contraction,
        sum(case when move = 'churn' then was else 0 end) as churn,
        sum(pays - was) as more,
        count(case when move = 'new' then 1 end) as new_customers,
        count(case when move = 'reactivation' then 1 end) as reactivated_customers,
        count(case when move = 'churn' then 1 end) as churned_customers
      from moves
      group by period
    ),
    at_first as (
      select coalesce(sum(after - before), 0) as mrr, ${payingCustomers()} as customers
      from customer_changes
      where ${isBefore('time_ms')}
    ),
    summed as (
      select period, at_first.mrr as mrr, at_first.customers as customers,
        coalesce(new, 0) as new, coalesce(reactivation, 0) as reactivation, coalesce(expansion, 0) as expansion,
        coalesce(contraction, 0) as contraction, coalesce(churn, 0) as churn, coalesce(more, 0) as more,
        coalesce(churned_customers, 0) as churned_customers,
        coalesce(new_customers + reactivated_customers - churned_customers, 0) as more_customers
      from periods left join moved using (period) cross join at_first
    )
    select
      mrr + sum(more) over so_far - more as start,
      new, reactivation, expansion, contraction, churn,
      mrr + sum(more) over so_far as "end",
      cast(customers + sum(more_customers) over so_far - more_customers as bigint) as "customersAtStart",
      churned_customers as "churnedCustomers",
      cast(customers + sum(more_customers) over so_far as bigint) as "customersAtEnd"
    from summed
    window so_far as (order by period)
    order by period`,
};

/** What all customers pay a month at a moment, after every change up to and including it, and how many customers pay. $1: the moment. */
export const standingAt: NamedQuery = {
  name: 'MRR and paying customers',
  sql: `
    select coalesce(sum(after - before), 0) as mrr, ${payingCustomers()} as customers
    from customer_changes
    where time_ms <= $1`,
};

/** Who pays after a change and did not before, less who no longer does. */
function payingCustomers(): string {
  return 'count(case when after > 0 and before = 0 then 1 end) - count(case when after = 0 and before > 0 then 1 end)';
}
