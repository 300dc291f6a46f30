import type { NamedQuery } from '../../../store/rows-port.ts';
import { BEGINS_MS } from '../../../store/sql/derived/subscription-steps.ts';

/** Subscriptions with a statement that counts from a month without an exchange rate, by currency. The statement counts as nothing. */
export const withoutRate: NamedQuery = {
  name: 'subscriptions without an exchange rate',
  sql: `
    with said as (select id, currency, ${BEGINS_MS} as begins_ms from subscription_terms)
    select said.currency as currency, count(distinct id) as "rows"
    from said left join exchange_rates as r on r.currency = said.currency and begins_ms >= r.from_ms and begins_ms < r.to_ms
    where r.factor is null
    group by said.currency
    order by said.currency`,
};
