import { labelOf } from '../format.ts';
import { METRICS, type Metric, type MetricAnswer } from '../pages/analytics/metrics.ts';

const MOST_MEMBERS = 5;

/** How to show the answer: as the dashboard does, or for a metric that it does not know, with the first of its numbers in one chart. */
export function metricOf(tool: string | undefined, { series = [] }: MetricAnswer, title?: string): Metric {
  const [first = {}] = series;
  const numbers = Object.keys(first).filter((member) => typeof first[member] === 'number');
  const known = METRICS.find((metric) => (tool === undefined ? draws(metric, numbers) : metric.tool === tool));
  if (known) return known;
  const named = title ?? (tool === undefined ? 'Metric' : labelOf(tool));
  return {
    tool: tool ?? '',
    title: named,
    group: 'Overview',
    ...(numbers.length > 0 && { charts: [{ title: named, members: numbers.slice(0, MOST_MEMBERS) }] }),
  };
}

function draws({ charts = [] }: Metric, numbers: readonly string[]): boolean {
  return charts.length > 0 && charts.every(({ members }) => members.every((member) => numbers.includes(member)));
}
