import { z } from 'zod';
import { addIntervals } from './calendar.ts';
import { activeUsersOf } from './product/activity.ts';
import { metric, periodHead, periodShape } from './request.ts';
import { Money } from './revenue/money.ts';
import { monthlyChurn, monthOf, movementsOf, standingOf } from './revenue/movements.ts';
import { warningsOf } from './revenue/rates.ts';
import { usersAt, usersOf } from './users.ts';

const count = z.int().min(0);

export const getOverview = metric({
  name: 'get_overview',
  title: 'Get overview',
  description:
    'The headline numbers: users, MRR, churn of the last complete month, and per period users, new users, active users, MRR. Start here, then ask the metric behind a number.',
  topic: 'overview',
  interval: 'month',
  asOfNow: ['totalUsers', 'mrr', 'churnRate'],
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

  async answer({ settings, periods, zone, now }, rows) {
    const money = new Money(settings);
    const users = await usersOf(rows, periods);
    const active = await activeUsersOf(rows, settings, periods);
    const movements = await movementsOf(rows, periods);
    const series = periods.map((period, at) => ({
      ...periodHead(period, now),
      users: users[at]?.users ?? 0,
      newUsers: users[at]?.newUsers ?? 0,
      activeUsers: active.each[at] ?? 0,
      payingCustomers: movements[at]?.customersAtEnd ?? 0,
      mrr: money.major(movements[at]?.end ?? 0),
    }));
    const last = series.at(-1);
    const totals = {
      users: last?.users ?? 0,
      newUsers: series.reduce((sum, { newUsers }) => sum + newUsers, 0),
      activeUsers: active.total,
      payingCustomers: last?.payingCustomers ?? 0,
      mrr: last?.mrr ?? 0,
    };
    const month = monthOf(zone, now);
    const churns = await monthlyChurn(rows, { from: addIntervals(month, 'month', -1), to: month, zone });
    const [churnRate = null] = churns.values();
    return {
      totalUsers: await usersAt(rows, now),
      mrr: money.major((await standingOf(rows, now)).mrr),
      ...(churnRate !== null && { churnRate }),
      currency: money.currency,
      totals,
      series,
      ...(await warningsOf(rows, money)),
    };
  },
});
