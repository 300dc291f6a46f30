import { z } from 'zod';
import { addDays, dateIn, type LocalDate, startOf } from '../calendar.ts';
import type { EventSet } from '../model/event-set.ts';
import { metric, periodHead, periodShape, share } from '../request.ts';
import { indexesOf } from './product-indexes.ts';

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

  parts({ model, settings }) {
    const indexes = indexesOf(model, settings);
    return indexes.parts([indexes.activity]);
  },
  answer(question) {
    const { model, settings, periods, now, zone, from, start, end } = question;
    const { activity } = indexesOf(model, settings);
    const today = dateIn(zone, now);
    const days = new Days(activity, zone);
    const series = periods.map((period) => {
      const last = addDays(period.to, -1);
      const at = last > today && period.from <= today ? today : last;
      return { ...periodHead(period, now), ...pointOf(days.on(at)) };
    });
    const past: DayCounts[] = [];
    for (let date = from; date < question.to && date <= today; date = addDays(date, 1)) past.push(days.on(date));
    const sticky = past.filter(({ mau }) => mau > 0);
    const mean = (values: readonly number[]) =>
      values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
    const totals = {
      activeUsers: activity.users(start, end),
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

function pointOf(day: DayCounts) {
  return { ...day, stickiness: day.mau === 0 ? null : day.dau / day.mau };
}

/** The users of the last 1, 7 and 30 days up to a date. */
class Days {
  readonly #activity: EventSet;
  readonly #zone: string;
  readonly #known = new Map<LocalDate, DayCounts>();

  constructor(activity: EventSet, zone: string) {
    this.#activity = activity;
    this.#zone = zone;
  }

  on(date: LocalDate): DayCounts {
    let counts = this.#known.get(date);
    if (!counts) {
      const end = startOf(addDays(date, 1), this.#zone);
      const users = (days: number) => this.#activity.users(startOf(addDays(date, 1 - days), this.#zone), end);
      counts = { dau: users(1), wau: users(7), mau: users(30) };
      this.#known.set(date, counts);
    }
    return counts;
  }
}
