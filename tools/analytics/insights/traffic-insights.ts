import type { RowSnapshot } from '../../../store/rows-port.ts';
import { addDays, periodsOf } from '../calendar.ts';
import { activeUsersOf } from '../product/activity.ts';
import type { Question } from '../question.ts';
import { ratio } from '../request.ts';
import { trafficOf } from '../traffic/measures.ts';
import { type Insight, lastInterval, percent, rangeOf } from './finding.ts';

export async function weeklyChange(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const weeks = [2, 1].map((back) => lastInterval(question, today, 'week', back));
  const visitors = (await trafficOf(rows, weeks)).each.map((week) => week.visitors);
  const { each: activeUsers } = await activeUsersOf(rows, question.settings, weeks);
  const measured = [
    { what: 'Visitors', tool: 'get_traffic_visitors', member: 'totals.visitors', counts: visitors },
    { what: 'Active users', tool: 'get_active_users', member: 'totals.activeUsers', counts: activeUsers },
  ];
  return measured.flatMap(({ what, tool, member, counts }): Insight[] => {
    const [before = 0, last = 0] = counts;
    const change = ratio(last - before, before);
    if (change === null || Math.abs(change) < 0.25 || Math.max(last, before) < 20) return [];
    return [
      {
        kind: 'change',
        severity: change <= -0.5 ? 'critical' : change < 0 ? 'warning' : 'info',
        title: `${what} ${change > 0 ? 'rose' : 'fell'} by ${percent(change)} in the week from ${weeks[1]?.from}`,
        detail: `${last} after ${before} the week before.`,
        evidence: weeks
          .map((week, at) => ({
            tool,
            arguments: rangeOf(week, question, 'week'),
            member,
            value: counts[at] ?? 0,
          }))
          .reverse(),
      },
    ];
  });
}

export async function anomalousDay(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const days = periodsOf(addDays(today, -29), today, 'day', question.zone);
  const { each } = await trafficOf(rows, days);
  const counts = each.map(({ visitors }) => visitors);
  const last = days.at(-1);
  const value = counts.pop() ?? 0;
  const middle = median(counts);
  const spread = median(counts.map((count) => Math.abs(count - middle)));
  if (!last || Math.abs(value - middle) <= Math.max(5 * spread, 9)) return [];
  return [
    {
      kind: 'anomaly',
      severity: value < middle ? 'warning' : 'info',
      title: `${value} visitors on ${last.from} are far from the usual ${middle}`,
      detail: `The median of the 28 days before is ${middle}, their median absolute deviation ${spread}.`,
      evidence: [
        { tool: 'get_traffic_visitors', arguments: rangeOf(last, question, 'day'), member: 'totals.visitors', value },
      ],
    },
  ];
}

/** Of an even number of values the mean of the two in the middle; 0 of none. */
function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >>> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2;
}
