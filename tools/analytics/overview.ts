import { z } from 'zod';
import type { NamedQuery, RowSnapshot } from '../../store/rows-port.ts';
import { listOf } from '../../store/sql/lists.ts';
import { addIntervals, type Period } from './calendar.ts';
import { isBefore, isIn, periodsFrom } from './periods.sql.ts';
import { activeUsersOf } from './product/activity.ts';
import { limitsOf, metric, periodHead, periodShape } from './request.ts';
import { Money } from './revenue/money.ts';
import { monthlyChurn, monthOf, movementsOf, standingOf } from './revenue/movements.ts';
import { warningsOf } from './revenue/rates.ts';

const count = z.int().min(0);

export const getOverview = metric({
  name: 'get_overview',
  title: 'Get overview',
  description:
    'The headline numbers: users, MRR, churn of the last complete month, and per period users, new users, active users, MRR. Start here, then ask the metric behind a number.',
  keywords:
    'KPIs, key numbers, dashboard, at a glance, how is the business doing, summary, headline metrics, key numbers on one page, how are we doing, summary of the business, executive summary',
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

async function usersOf(rows: RowSnapshot, periods: readonly Pick<Period, 'start' | 'end'>[]) {
  const changes = await changesOf(rows, limitsOf(periods));
  let users = changes.get(0)?.more ?? 0;
  return periods.map((_, at) => {
    const { created = 0, more = 0 } = changes.get(at + 1) ?? {};
    users += more;
    return { users, newUsers: created };
  });
}

/** Users there after every change up to and including the time. */
async function usersAt(rows: RowSnapshot, time: number): Promise<number> {
  return (await changesOf(rows, listOf([time + 1]))).get(0)?.more ?? 0;
}

async function changesOf(rows: RowSnapshot, limits: string) {
  const found = await rows.query<{ period: number; created: number; gone: number }>(usersByPeriod, [limits]);
  return new Map(found.map(({ period, created, gone }) => [period, { created, more: created - gone }]));
}

/**
 * Users created in each period and users gone in it, and with the period 0 those of the time before. A user is gone from its deletion on,
 * or from its creation on where that is later. Users at the end of a period: all created until then less all gone until then. $1: limits of
 * the periods.
 */
const usersByPeriod: NamedQuery = {
  name: 'users by period',
  sql: `
  with ${periodsFrom('$1')},
  changes as (
    select created_ms as at_ms, 1 as created, 0 as gone from users
    union all
    select greatest(created_ms, deleted_ms), 0, 1 from users where deleted_ms is not null
  ),
  placed as (
    select 0 as period, created, gone from changes where ${isBefore('at_ms')}
    union all
    select period, created, gone from changes join cells on ${isIn('at_ms')}
  )
  select period, cast(sum(created) as bigint) as created, cast(sum(gone) as bigint) as gone
  from placed
  group by period`,
};
