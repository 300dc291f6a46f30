import { z } from 'zod';
import { metric, type Question, share } from '../request.ts';
import { indexesOf } from './product-indexes.ts';

export const getCohortRetention = metric({
  name: 'get_cohort_retention',
  title: 'Get cohort retention',
  description:
    'Of the users first active in each period, the share active in each later period, and the weighted average.',
  topic: 'product',
  interval: 'week',
  definition:
    'A cohort is the users whose first activity event ever is in the period. Value k is the share of them active in the k-th period after it; period 0 is 1. Values of periods that are not over yet, and of empty cohorts, are null. The average of value k is weighted by cohort size over the cohorts that have it.',
  shape: {
    totals: z.object({
      users: z.int().min(0).describe('In all cohorts.'),
      average: z.array(share).describe('By k.'),
    }),
    rows: z.array(z.object({ cohort: z.iso.date(), size: z.int().min(0), values: z.array(share).describe('By k.') })),
  },

  parts({ model, settings }) {
    const indexes = indexesOf(model, settings);
    return indexes.parts([indexes.activity]);
  },
  answer(question) {
    const { periods, now } = question;
    const table = activeByCohort(question);
    const rows = periods.map((period, at) => {
      const active = table[at] ?? [];
      const size = active[0] ?? 0;
      const values = periods.slice(at).map((later, k) => {
        if (size === 0) return null;
        if (k === 0) return 1;
        return later.end <= now ? (active[k] ?? 0) / size : null;
      });
      return { cohort: period.from, size, values };
    });
    const average = periods.map((_, k) => {
      const having = rows.filter(({ values }) => typeof values[k] === 'number');
      const users = having.reduce((sum, { size }) => sum + size, 0);
      return users === 0 ? null : having.reduce((sum, { size, values }) => sum + size * (values[k] ?? 0), 0) / users;
    });
    return { totals: { users: rows.reduce((sum, { size }) => sum + size, 0), average }, rows };
  },
});

/** How many users of a cohort (first index) are active in the k-th period after it (second index). */
function activeByCohort({ model, settings, periods }: Question): number[][] {
  const table: number[][] = periods.map(() => []);
  const { activity } = indexesOf(model, settings);
  const { uid } = model.events.table.columns;
  /** For each user: 1 + the number of the cohort, 0 for users who were active before the range. */
  const cohorts = new Uint16Array(model.uids.size);
  for (const [period, { start, end }] of periods.entries()) {
    activity.eachUser(start, end, (row, before) => {
      const user = uid[row] ?? 0;
      if (before === Number.NEGATIVE_INFINITY) cohorts[user] = period + 1;
      const cohort = (cohorts[user] ?? 0) - 1;
      const active = table[cohort];
      if (active) active[period - cohort] = (active[period - cohort] ?? 0) + 1;
    });
  }
  return table;
}
