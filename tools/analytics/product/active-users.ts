import { z } from 'zod';
import type { RowSnapshot } from '../../../store/rows-port.ts';
import { addDays, dateIn, type LocalDate, periodsOf } from '../calendar.ts';
import type { Question } from '../question.ts';
import { limitsOf, metric, periodHead, periodShape, share } from '../request.ts';
import { activeUsersByDay, activityParameters } from './activity.ts';

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
  keywords:
    'DAU, WAU, MAU, daily actives, monthly actives, engagement, stickiness, how many people use the product, how many active users, daily users',
  topic: 'product',
  interval: 'day',
  definition:
    'Active users: distinct users with an activity event (settings analytics.activityEvents) in the 1, 7, 30 days ending with the point, which is the last day of the period, or today in one that is not over. Stickiness of a point = DAU / MAU; in the totals the mean of it over the days of the range up to today that have active users in their 30 days. Totals count distinct active users of the whole range.',
  shape: {
    totals: z.object({ activeUsers: count, stickiness: share, averageDau: z.number().min(0).nullable() }),
    series: z.array(z.object({ ...periodShape, ...point })),
  },

  async answer(question, rows) {
    const { periods, now, zone, from } = question;
    const today = dateIn(zone, now);
    const days = await activeUsersOfDays(rows, question);
    const series = periods.map((period) => {
      const last = addDays(period.to, -1);
      const at = last > today && period.from <= today ? today : last;
      return { ...periodHead(period, now), ...pointOf(days.get(at) ?? NOBODY) };
    });
    const past = [...days].filter(([date]) => date >= from && date <= today).map(([, counts]) => counts);
    const sticky = past.filter(({ mau }) => mau > 0);
    const mean = (values: readonly number[]) =>
      values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
    const totals = {
      activeUsers: [...days].reduce((sum, [, { leaving }]) => sum + leaving, 0),
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
  /** Of the users, those who are active on no later day of the range: all of them together are the users of the range. */
  readonly leaving: number;
}

const NOBODY: DayCounts = { dau: 0, wau: 0, mau: 0, leaving: 0 };
const LONGEST_DAYS = 30;

function pointOf({ dau, wau, mau }: DayCounts) {
  return { dau, wau, mau, stickiness: mau === 0 ? null : dau / mau };
}

async function activeUsersOfDays(
  rows: RowSnapshot,
  { settings, zone, from, to }: Question,
): Promise<Map<LocalDate, DayCounts>> {
  const days = periodsOf(addDays(from, 1 - LONGEST_DAYS), to, 'day', zone);
  const found = await rows.query<DayCounts>(activeUsersByDay, [limitsOf(days), ...activityParameters(settings)]);
  const counts = days.map(({ from: date }, at): [LocalDate, DayCounts] => [date, found[at] ?? NOBODY]);
  return new Map(counts.slice(LONGEST_DAYS - 1));
}
