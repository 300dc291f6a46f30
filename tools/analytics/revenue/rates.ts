import type { RowSnapshot } from '../../../store/rows-port.ts';
import type { Money } from './money.ts';
import { withoutRate } from './rates.sql.ts';

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
