import { boot } from '../../boot.ts';
import { prefetch } from '../../store.ts';

export type Span = 'days' | 'months';

/** The range that the address asks for. */
export function spanIn(query: URLSearchParams): Span {
  return query.get('span') === 'days' ? 'days' : 'months';
}

const DAY_MS = 24 * 60 * 60 * 1000;

export function metricInput(span: Span): object {
  if (span === 'months') return { interval: 'month' };
  return { interval: 'day', from: new Date(Date.now() - 30 * DAY_MS).toISOString().slice(0, 10) };
}

/** The latest changes; reads are no news. */
export const HAPPENED = { limit: 10, outcome: 'ok', changes: true };

/** Begins the calls of the home page before it is drawn, as far as the person may make them, and the file that draws its chart. */
export function beginHome(): void {
  const input = metricInput(spanIn(new URLSearchParams(location.search)));
  const calls = [
    ['get_overview', input],
    ['get_traffic_visitors', input],
    ['get_mrr', input],
    ['list_audit_entries', HAPPENED],
    ['get_system_health', {}],
  ] as const;
  for (const [tool, given] of calls) if (boot.tools.includes(tool)) prefetch(tool, given);
  if (boot.tools.includes('get_mrr')) void import('../../components/plot.tsx');
}
