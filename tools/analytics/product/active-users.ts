import { z } from 'zod';
import { addDays, dateIn, type LocalDate, startOf } from '../calendar.ts';
import { metric, periodHead, periodShape, type Question, share } from '../request.ts';
import { activeUsers, eachActivity } from './activity.ts';

const count = z.int().min(0);
const point = {
  dau: count.describe('Active on the last day.'),
  wau: count.describe('Active in the last 7 days.'),
  mau: count.describe('Active in the last 30 days.'),
  stickiness: share.describe('dau / mau.'),
};

export const getActiveUsers = metric({
  name: 'get_active_users',
  title: 'Get active users',
  description: 'Distinct active users in the 1, 7 and 30 days that end with each period, and stickiness.',
  topic: 'product',
  interval: 'day',
  definition:
    'Active users: distinct users with an activity event (settings analytics.activityEvents) in the 1, 7, 30 days ending with the point, which is the last day of the period, or today in one that is not over. Stickiness of a point = DAU / MAU; in the totals the mean of it over the days of the range up to today that have active users in their 30 days. Totals count distinct active users of the whole range.',
  shape: {
    totals: z.object({ activeUsers: count, stickiness: share, averageDau: z.number().min(0).nullable() }),
    series: z.array(z.object({ ...periodShape, ...point })),
  },

  answer(question) {
    const { model, settings, periods, now, zone, from, to, start, end } = question;
    const today = dateIn(zone, now);
    const days = dailyCounts(question);
    const series = periods.map((period) => {
      const last = addDays(period.to, -1);
      const at = last > today && period.from <= today ? today : last;
      return { ...periodHead(period, now), ...pointOf(days.get(at)) };
    });
    const past = [...days].filter(([date]) => date >= from && date < to && date <= today).map(([, day]) => day);
    const sticky = past.filter(({ mau }) => mau > 0);
    const mean = (values: readonly number[]) =>
      values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
    const totals = {
      activeUsers: activeUsers(model.events, settings, start, end).size,
      stickiness: mean(sticky.map(({ dau, mau }) => dau / mau)),
      averageDau: mean(past.map(({ dau }) => dau)),
    };
    return { totals, series };
  },
});

interface DayCounts {
  readonly dau: number;
  readonly wau: number;
  readonly mau: number;
}

function pointOf(day: DayCounts = { dau: 0, wau: 0, mau: 0 }) {
  return { ...day, stickiness: day.mau === 0 ? null : day.dau / day.mau };
}

/** For each date of the range. An active day of a user counts for the 1, 7 and 30 dates from it on, but not again before the user's next one. */
export function dailyCounts({ model, settings, zone, from, to }: Question): Map<LocalDate, DayCounts> {
  const dates: LocalDate[] = [];
  for (let date = addDays(from, -29); date < to; date = addDays(date, 1)) dates.push(date);
  const limits = [...dates, to].map((date) => startOf(date, zone));
  const lastDay = new Map<number, number>();
  const spans = [1, 7, 30] as const;
  const starts = spans.map(() => new Int32Array(dates.length + 1));
  const settle = (day: number, next: number) => {
    for (const [at, span] of spans.entries()) {
      const change = starts[at];
      if (!change) continue;
      change[day] = (change[day] ?? 0) + 1;
      const until = Math.min(next, day + span, dates.length);
      change[until] = (change[until] ?? 0) - 1;
    }
  };
  eachActivity(model.events, settings, limits, (user, day) => {
    const before = lastDay.get(user);
    if (before === day) return;
    if (before !== undefined) settle(before, day);
    lastDay.set(user, day);
  });
  for (const day of lastDay.values()) settle(day, dates.length);
  const running = [0, 0, 0];
  const counts = new Map<LocalDate, DayCounts>();
  for (const [day, date] of dates.entries()) {
    for (const [at, change] of starts.entries()) running[at] = (running[at] ?? 0) + (change[day] ?? 0);
    const [dau = 0, wau = 0, mau = 0] = running;
    counts.set(date, { dau, wau, mau });
  }
  return counts;
}
