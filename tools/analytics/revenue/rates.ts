import type { NamedQuery, RowSnapshot } from '../../../store/rows-port.ts';
import { BEGINS_MS } from '../../../store/sql/derived/subscription-steps.ts';
import type { Money } from './money.ts';

interface Warning {
  readonly reason: string;
  readonly type: string;
  readonly currency: string;
  readonly rows: number;
}

/** The subscriptions that were left out, wholly or in part, for want of an exchange rate. */
export async function warningsOf(rows: RowSnapshot, { currency: own }: Money): Promise<{ warnings?: Warning[] }> {
  const found = await rows.query<{ currency: string; rows: number }>(withoutRate);
  if (found.length === 0) return {};
  const reason = `No exchange rate to ${own} for the month; update_settings takes them.`;
  return {
    warnings: found.map(({ currency, rows: count }) => ({ reason, type: 'subscriptions', currency, rows: count })),
  };
}

/** Subscriptions with a statement that counts from a month without an exchange rate, by currency. The statement counts as nothing. */
const withoutRate: NamedQuery = {
  name: 'subscriptions without an exchange rate',
  sql: `
    with said as (select id, currency, ${BEGINS_MS} as begins_ms from subscription_terms)
    select said.currency as currency, count(distinct id) as "rows"
    from said left join exchange_rates as r on r.currency = said.currency and begins_ms >= r.from_ms and begins_ms < r.to_ms
    where r.factor is null
    group by said.currency
    order by said.currency`,
};
