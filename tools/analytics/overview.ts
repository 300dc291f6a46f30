import { z } from 'zod';
import { addIntervals } from './calendar.ts';
import { indexesOf } from './product/product-indexes.ts';
import { metric, periodShape, seriesOf } from './request.ts';
import { Money } from './revenue/money.ts';
import { monthlyChurn, monthOf, movementsOf, standingOf } from './revenue/movements.ts';
import { warningsOf } from './revenue/rates.ts';

const count = z.int().min(0);

export const getOverview = metric({
  name: 'get_overview',
  title: 'Get overview',
  description:
    'The headline numbers: users, MRR, churn of the last complete month, and per period users, new users, active users, MRR. Start here, then ask the metric behind a number.',
  topic: 'overview',
  interval: 'month',
  definition:
    'totalUsers: users created and not deleted by asOf. mrr: monthly recurring revenue at asOf, as in get_mrr. churnRate: customer churn of the last complete calendar month, left out where there were no customers at its start. Series and totals: users at the end, new and active users within, MRR at the end of the period or range.',
  shape: {
    totalUsers: count,
    mrr: z.number().describe('Major units of `currency`.'),
    churnRate: z.number().optional(),
    currency: z.string(),
    totals: z.object({ users: count, newUsers: count, activeUsers: count, payingCustomers: count, mrr: z.number() }),
    series: z.array(
      z.object({
        ...periodShape,
        users: count,
        newUsers: count,
        activeUsers: count,
        payingCustomers: count,
        mrr: z.number(),
      }),
    ),
  },

  parts({ model, settings }) {
    const indexes = indexesOf(model, settings);
    return indexes.parts([indexes.activity]);
  },
  async answer({ model, settings, periods, zone, now, start, end }, rows) {
    const money = new Money(settings);
    const { users } = model;
    const { activity } = indexesOf(model, settings);
    const numbers = (from: number, to: number) => ({
      users: users.thereAt(to),
      newUsers: users.createdBefore(to) - users.createdBefore(from),
      activeUsers: activity.users(from, to),
    });
    const series = seriesOf({ periods, now }, await movementsOf(rows, periods), (movement, period) => ({
      ...numbers(period.start, period.end),
      payingCustomers: movement.customersAtEnd,
      mrr: money.major(movement.end),
    }));
    const month = monthOf(zone, now);
    const churns = await monthlyChurn(rows, { from: addIntervals(month, 'month', -1), to: month, zone });
    const [churnRate = null] = churns.values();
    const last = series.at(-1);
    return {
      totalUsers: users.thereAt(now + 1),
      mrr: money.major((await standingOf(rows, now)).mrr),
      ...(churnRate !== null && { churnRate }),
      currency: money.currency,
      totals: { ...numbers(start, end), payingCustomers: last?.payingCustomers ?? 0, mrr: last?.mrr ?? 0 },
      series,
      ...(await warningsOf(rows, money)),
    };
  },
});
