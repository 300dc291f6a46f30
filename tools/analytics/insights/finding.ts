import { z } from 'zod';
import { addIntervals, floorTo, type Interval, type Period, periodsOf } from '../calendar.ts';
import type { Question } from '../question.ts';

export const severity = z.enum(['info', 'warning', 'critical']);

export const insight = z.object({
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
export type Insight = z.input<typeof insight>;

/** The complete interval that begins `back` intervals before the one that contains the date. */
export function lastInterval({ zone }: Question, today: string, interval: Interval, back: number): Period {
  const to = addIntervals(floorTo(today, interval), interval, 1 - back);
  const [period] = periodsOf(addIntervals(to, interval, -1), to, interval, zone);
  if (!period) throw new Error('An interval is a period.');
  return period;
}

export function rangeOf({ from, to }: Period, { zone }: Question, interval: Interval): Record<string, string> {
  return { from, to, interval, timezone: zone };
}

export function percent(value: number): string {
  return `${Math.round(Math.abs(value) * 1000) / 10} %`;
}
