import { DAY_MS, HOUR_MS } from '../../resources/durations.ts';
import { addDays, addIntervals, dateIn, floorTo, periodsOf, startOf } from '../analytics/exports.ts';
import type { Span } from './sources.ts';

export const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
type Interval = (typeof INTERVALS)[number];

/** None is longer, whatever its clocks do. */
const LONGEST_MS: Readonly<Record<Interval, number>> = {
  hour: HOUR_MS,
  day: 1.1 * DAY_MS,
  week: 7.1 * DAY_MS,
  month: 31.1 * DAY_MS,
};
export const MOST_PERIODS = 1000;
const USUAL: Readonly<Record<Interval, number>> = { hour: 48, day: 30, week: 12, month: 12 };

export type Period = Span;

/** The periods of a span. The first and the last may be cut short by it. Undefined if there are too many. */
export function periodsIn({ from, to }: Span, interval: Interval, zone: string): Period[] | undefined {
  // Before they are made: ten thousand years have days enough to fill the memory.
  if ((to - from) / LONGEST_MS[interval] > MOST_PERIODS) return undefined;
  if (interval === 'hour') {
    const count = (to - from) / HOUR_MS;
    return Array.from({ length: count }, (_, at) => ({ from: from + at * HOUR_MS, to: from + (at + 1) * HOUR_MS }));
  }
  const [first, last] = [dateIn(zone, from), dateIn(zone, to - 1)];
  const periods = periodsOf(first, addDays(last, 1), interval, zone);
  if (periods.length > MOST_PERIODS) return undefined;
  return periods.map(({ start, end }) => ({ from: Math.max(start, from), to: Math.min(end, to) }));
}

export function defaultStart(end: number, interval: Interval, zone: string): number {
  if (interval === 'hour') return end - USUAL.hour * HOUR_MS;
  const last = floorTo(dateIn(zone, end - 1), interval);
  return startOf(addIntervals(last, interval, 1 - USUAL[interval]), zone);
}

export function renewalAfter(now: Date, period: 'day' | 'month', zone: string): Date {
  const today = floorTo(dateIn(zone, now.getTime()), period);
  return new Date(startOf(addIntervals(today, period, 1), zone));
}
