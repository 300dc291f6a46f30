import { z } from 'zod';
import { indexesOf } from './product/product-indexes.ts';
import { metric, periodHead, periodShape, ratio } from './request.ts';
import { bookOf } from './revenue/book.ts';
import { movements, standingAt } from './revenue/movements.ts';
import { lastMonth, movementsOf, periodAt } from './revenue/revenue.ts';

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

  *parts({ model, settings }) {
    yield bookOf(model, settings);
    const indexes = indexesOf(model, settings);
    yield* indexes.parts([indexes.activity]);
  },
  answer({ model, settings, periods, zone, now, start, end }) {
    const book = bookOf(model, settings);
    const { money } = book;
    const { users } = model;
    const { activity } = indexesOf(model, settings);
    const numbers = (from: number, to: number) => ({
      users: users.thereAt(to),
      newUsers: users.createdBefore(to) - users.createdBefore(from),
      activeUsers: activity.users(from, to),
    });
    const series = movementsOf(book, periods).map((movement, at) => {
      const period = periodAt(periods, at);
      const paying = { payingCustomers: movement.customersAtEnd, mrr: money.major(movement.end) };
      return { ...periodHead(period, now), ...numbers(period.start, period.end), ...paying };
    });
    const month = lastMonth(zone, now);
    const [churn] = movements(book, [month.start, month.end]);
    const churnRate = churn ? ratio(churn.churnedCustomers, churn.customersAtStart) : null;
    const last = series.at(-1);
    return {
      totalUsers: users.thereAt(now + 1),
      mrr: money.major(standingAt(book, now).mrr),
      ...(churnRate !== null && { churnRate }),
      currency: money.currency,
      totals: { ...numbers(start, end), payingCustomers: last?.payingCustomers ?? 0, mrr: last?.mrr ?? 0 },
      series,
      ...money.warnings(),
    };
  },
});
