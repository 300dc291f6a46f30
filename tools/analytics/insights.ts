import { z } from 'zod';
import type { RowSnapshot } from '../../store/rows-port.ts';
import { addDays, addIntervals, dateIn, floorTo, type Interval, type Period, periodsOf, startOf } from './calendar.ts';
import { activeUsersOf } from './product/activity.ts';
import { passages } from './product/onboarding-funnel.ts';
import type { Question } from './question.ts';
import { metric, ratio } from './request.ts';
import { Money } from './revenue/money.ts';
import { bridge, meanChurn, monthlyChurn, movementOf } from './revenue/movements.ts';
import { trafficOf } from './traffic/measures.ts';
import { rewordInsights } from './wording.ts';

const severity = z.enum(['info', 'warning', 'critical']);

const insight = z.object({
  kind: z.enum(['change', 'anomaly', 'broken_funnel', 'churn']),
  severity,
  title: z.string(),
  detail: z.string(),
  wordedBy: z.string().optional().describe('Model that worded the detail. Absent: the rule did.'),
  evidence: z
    .array(
      z.object({
        tool: z.string(),
        arguments: z.record(z.string(), z.string()),
        member: z.string().describe('Path of the value in the answer of the tool.'),
        value: z.number().nullable(),
      }),
    )
    .describe('Call the tool with the arguments to see the value again.'),
});
type Insight = z.input<typeof insight>;

/** The complete interval that begins `back` intervals before the one that contains the date. */
function lastInterval({ zone }: Question, today: string, interval: Interval, back: number): Period {
  const to = addIntervals(floorTo(today, interval), interval, 1 - back);
  const [period] = periodsOf(addIntervals(to, interval, -1), to, interval, zone);
  if (!period) throw new Error('An interval is a period.');
  return period;
}

function rangeOf({ from, to }: Period, { zone }: Question, interval: Interval): Record<string, string> {
  return { from, to, interval, timezone: zone };
}

function percent(value: number): string {
  return `${Math.round(Math.abs(value) * 1000) / 10} %`;
}

export const getInsights = metric({
  name: 'get_insights',
  title: 'Get insights',
  description:
    'What stands out now: large changes of MRR, visitors and active users, high churn, anomalous days, broken funnel steps; each with the calls that prove it.',
  keywords:
    'anomalies, alerts, anything unusual, what changed, what stands out, recommendations, warnings in the numbers, what should I look at, what changed in the numbers, anything to worry about, sudden drop, spike',
  topic: 'insights',
  interval: 'month',
  whole: 'always',
  definition:
    'Found by rules in the complete periods before asOf, or before the end of the range where that is earlier. Change: MRR of the last complete month by 10 % or more, visitors or active users of the last complete week by 25 % or more against the week before with 20 or more in either. Churn: customer churn of the last complete month above 5 % and above 1.5 times the mean of the six months before. Anomaly: visitors of the last complete day further from the median of the 28 days before than 5 times their median absolute deviation (at least 10 visitors). Broken funnel: a step that no user passed in the last 30 complete days, or fewer than half the share of the 30 days before, where 20 or more came to it.',
  shape: {
    totals: z.object({ insights: z.int().min(0), critical: z.int().min(0), warning: z.int().min(0) }),
    rows: z.array(insight),
  },

  async answer(question, snapshot) {
    const today = dateIn(question.zone, Math.min(question.now, question.end));
    const rows = [
      ...(await mrrChange(question, snapshot, today)),
      ...(await highChurn(question, snapshot, today)),
      ...(await weeklyChange(question, snapshot, today)),
      ...(await anomalousDay(question, snapshot, today)),
      ...(await brokenSteps(question, snapshot, today)),
    ].sort((a, b) => rank(b) - rank(a));
    const having = (wanted: string) => rows.filter((row) => row.severity === wanted).length;
    return { totals: { insights: rows.length, critical: having('critical'), warning: having('warning') }, rows };
  },

  word: async (answer, { store, server }) => ({
    ...answer,
    rows: await rewordInsights(answer.rows, store, server.models),
  }),
});

function rank(row: Insight): number {
  return severity.options.indexOf(row.severity);
}

async function brokenSteps(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const steps = question.settings.analytics.funnel;
  const passed = async (from: string, to: string) => {
    const { zone: timezone } = question;
    const range = { start: startOf(from, timezone), end: startOf(to, timezone) };
    const users = (await passages(rows, steps, range)).map((step) => step.users);
    return { users, range: { from, to, timezone } };
  };
  const now = await passed(addDays(today, -30), today);
  const before = await passed(addDays(today, -60), addDays(today, -30));
  return steps.flatMap((event, at): Insight[] => {
    const came = now.users[at - 1] ?? 0;
    const share = ratio(now.users[at] ?? 0, came);
    const earlier = ratio(before.users[at] ?? 0, before.users[at - 1] ?? 0);
    if (at === 0 || share === null || came < 20) return [];
    if (share > 0 && (earlier === null || share >= earlier / 2)) return [];
    const member = `rows[${at}].conversionFromPrevious`;
    const evidence = [{ tool: 'get_onboarding_funnel', arguments: now.range, member, value: share }];
    if (earlier !== null)
      evidence.push({ ...evidence[0], arguments: before.range, value: earlier } as (typeof evidence)[0]);
    return [
      {
        kind: 'broken_funnel',
        severity: share === 0 ? 'critical' : 'warning',
        title: `Step ${at + 1} of the funnel (${JSON.stringify(event)}) ${share === 0 ? 'is passed by nobody' : 'lost half its users or more'}`,
        detail: `${percent(share)} of ${came} users passed it in the last 30 days; ${earlier === null ? 'nobody came to it' : percent(earlier)} in the 30 days before.`,
        evidence,
      },
    ];
  });
}

async function mrrChange(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const money = new Money(question.settings);
  const month = lastInterval(question, today, 'month', 1);
  const movement = await movementOf(rows, month);
  const change = ratio(movement.end - movement.start, movement.start);
  if (change === null || Math.abs(change) < 0.1) return [];
  const closed = bridge(movement, money);
  const parts = {
    new: closed.new,
    reactivation: closed.reactivation,
    expansion: closed.expansion,
    contraction: closed.contraction,
    churn: closed.churn,
  };
  const [largest = 'new'] = Object.entries(parts).sort((a, b) => b[1] - a[1])[0] ?? [];
  const args = rangeOf(month, question, 'month');
  return [
    {
      kind: 'change',
      severity: change <= -0.2 ? 'critical' : change < 0 ? 'warning' : 'info',
      title: `MRR ${change > 0 ? 'rose' : 'fell'} by ${percent(change)} in ${month.from.slice(0, 7)}`,
      detail: `From ${closed.start} to ${closed.end} ${money.currency}; the largest movement is ${largest}.`,
      evidence: (['start', 'end'] as const).map((name) => ({
        tool: 'get_mrr',
        arguments: args,
        member: `totals.${name}`,
        value: closed[name],
      })),
    },
  ];
}

async function highChurn(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
  const month = lastInterval(question, today, 'month', 1);
  const from = addIntervals(month.from, 'month', -6);
  const churns = await monthlyChurn(rows, { from, to: month.to, zone: question.zone });
  const last = churns.get(month.from) ?? null;
  const mean = meanChurn(churns, month.from, 6) ?? 0;
  if (last === null || last <= 0.05 || last <= mean * 1.5) return [];
  return [
    {
      kind: 'churn',
      severity: last > 0.1 ? 'critical' : 'warning',
      title: `${percent(last)} of customers churned in ${month.from.slice(0, 7)}`,
      detail: `The mean of the six months before is ${percent(mean)}.`,
      evidence: [
        {
          tool: 'get_churn',
          arguments: rangeOf(month, question, 'month'),
          member: 'totals.customerChurn',
          value: last,
        },
      ],
    },
  ];
}

async function weeklyChange(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
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

async function anomalousDay(question: Question, rows: RowSnapshot, today: string): Promise<Insight[]> {
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
