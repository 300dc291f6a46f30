import { boot } from '../../boot.ts';

export type Span = 'days' | 'months';

export function spanIn(query: URLSearchParams): Span {
  return query.get('span') === 'days' ? 'days' : 'months';
}

const DAY_MS = 24 * 60 * 60 * 1000;

export function metricInput(span: Span): object {
  if (span === 'months') return { interval: 'month' };
  return { interval: 'day', from: new Date(Date.now() - 30 * DAY_MS).toISOString().slice(0, 10) };
}

/** The latest changes; reads are not news. */
export const HAPPENED = { limit: 10, outcome: 'ok', changes: true };

/** What the home page asks first, as far as the person may. */
export function firstCalls(): (readonly [string, object])[] {
  const input = metricInput(spanIn(new URLSearchParams(location.search)));
  const calls: readonly (readonly [string, object])[] = [
    ['get_overview', input],
    ['get_traffic_visitors', input],
    ['get_mrr', input],
    ['list_audit_entries', HAPPENED],
    ['get_system_health', {}],
  ];
  return calls.filter(([tool]) => boot.tools.includes(tool));
}
