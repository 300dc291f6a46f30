import type { SubscriptionRow } from '../../../resources/imported-rows.ts';

/** When the paid time ends. An earlier announcement of the end does not count. */
export function paidUntil(row: SubscriptionRow): number {
  if (row.endedAt !== undefined) return Date.parse(row.endedAt);
  return row.status === 'canceled' && row.canceledAt !== undefined
    ? Date.parse(row.canceledAt)
    : Number.POSITIVE_INFINITY;
}
