import { z } from 'zod';
import type { RowSnapshot } from '../../../store/rows-port.ts';
import type { Question } from '../question.ts';
import { limitsOf, metric, share } from '../request.ts';
import { activeUsersByCohort, activityParameters } from './activity.ts';

export const getCohortRetention = metric({
  name: 'get_cohort_retention',
  title: 'Get cohort retention',
  description:
    'Of the users first active in each period, the share active in each later period, and the weighted average.',
  keywords:
    'do customers come back, retention curve, returning users, cohorts, repeat use, do users stay, how many come back after a month',
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

  async answer(question, rows) {
    const { periods, now } = question;
    const table = await activeByCohort(question, rows);
    const cohorts = periods.map((period, at) => {
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
      const having = cohorts.filter(({ values }) => typeof values[k] === 'number');
      const users = having.reduce((sum, { size }) => sum + size, 0);
      return users === 0 ? null : having.reduce((sum, { size, values }) => sum + size * (values[k] ?? 0), 0) / users;
    });
    return { totals: { users: cohorts.reduce((sum, { size }) => sum + size, 0), average }, rows: cohorts };
  },
});

/** How many users of a cohort (first index) are active in the k-th period after it (second index). */
async function activeByCohort({ settings, periods }: Question, rows: RowSnapshot): Promise<number[][]> {
  const found = await rows.query<{ cohort: number; periods: string; users: string }>(activeUsersByCohort, [
    limitsOf(periods),
    ...activityParameters(settings),
  ]);
  const table: number[][] = periods.map(() => []);
  for (const { cohort, periods: later, users } of found) {
    const active = table[cohort - 1];
    const counts = users.split(' ');
    for (const [at, period] of later.split(' ').entries())
      if (active) active[Number(period) - cohort] = Number(counts[at]);
  }
  return table;
}
