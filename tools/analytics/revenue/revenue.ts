import { z } from 'zod';
import { addIntervals, dateIn, floorTo, type Period, periodsOf, startOf } from '../calendar.ts';
import { metric, periodHead, periodShape, ratio, share } from '../request.ts';
import { type Book, bookOf } from './book.ts';
import type { RevenueStanding } from './customer-changes.ts';
import { roundCents } from './money.ts';
import { bridge, type Movement, movements, standingAt } from './movements.ts';
import { plus } from './subscription-steps.ts';

const amount = z.number().describe('Major units of `currency`.');
const currency = z.string();
const count = z.int().min(0);
const bridgeShape = {
  start: amount,
  new: amount,
  reactivation: amount,
  expansion: amount,
  contraction: amount,
  churn: amount,
  end: amount,
};

/** The movement of each period. */
export function movementsOf(book: Book, periods: readonly Period[]): Movement[] {
  const [first] = periods;
  return first ? movements(book, [first.start, ...periods.map(({ end }) => end)]) : [];
}

export const getMrr = metric({
  name: 'get_mrr',
  title: 'Get MRR',
  description:
    'Monthly recurring revenue at the end of each period and what moved it: new, reactivation, expansion, contraction, churn. The bridge from start to end always closes.',
  topic: 'revenue',
  interval: 'month',
  definition:
    'MRR at a time is the sum over subscriptions that are active or past due then and outside their trial of amount x quantity, less the discount still running, normalised to a month (year / 12, week x 52 / 12, day x 365 / 12), without tax. Movements are per customer between start and end of a period: new (from 0 for the first time), reactivation (from 0, had paid before), expansion, contraction, churn (to 0); start + new + reactivation + expansion - contraction - churn = end. Totals add up the periods. A subscription counts until its paid time ends; foreign currencies are converted by the rate of the month in which its terms began.',
  shape: {
    currency,
    totals: z.object({ ...bridgeShape, mrr: amount.describe('At asOf.') }),
    series: z.array(z.object({ ...periodShape, ...bridgeShape, mrr: amount.describe('At the end of the period.') })),
  },

  parts: ({ model, settings }) => [bookOf(model, settings)],
  answer({ model, settings, periods, now }) {
    const book = bookOf(model, settings);
    const { money } = book;
    const series = movementsOf(book, periods).map((movement, at) => {
      const closed = bridge(movement, money);
      return { ...periodHead(periodAt(periods, at), now), ...closed, mrr: closed.end };
    });
    const sum = (part: keyof typeof bridgeShape) => roundCents(series.reduce((total, point) => total + point[part], 0));
    const totals = {
      start: series[0]?.start ?? 0,
      new: sum('new'),
      reactivation: sum('reactivation'),
      expansion: sum('expansion'),
      contraction: sum('contraction'),
      churn: sum('churn'),
      end: series.at(-1)?.end ?? 0,
      mrr: money.major(standingAt(book, now).mrr),
    };
    return { currency: money.currency, totals, series, ...book.money.warnings() };
  },
});

const churnShape = {
  customersAtStart: count,
  churnedCustomers: count,
  customerChurn: share,
  startMrr: amount,
  churnedMrr: amount,
  contractionMrr: amount,
  grossMrrChurn: share,
  netMrrChurn: share,
};

function churnOf(movement: Movement, { money }: Book) {
  const { start, churn, contraction, expansion, reactivation, customersAtStart, churnedCustomers } = movement;
  return {
    customersAtStart,
    churnedCustomers,
    customerChurn: ratio(churnedCustomers, customersAtStart),
    startMrr: money.major(start),
    churnedMrr: money.major(churn),
    contractionMrr: money.major(contraction),
    grossMrrChurn: ratio(churn + contraction, start),
    netMrrChurn: ratio(churn + contraction - expansion - reactivation, start),
  };
}

export const getChurn = metric({
  name: 'get_churn',
  title: 'Get churn',
  description:
    'Customer churn, gross and net MRR churn per period and over the whole range, as fractions; null where there was nothing to lose.',
  topic: 'revenue',
  interval: 'month',
  definition:
    'Customer churn = customers at the start who are at 0 at the end / customers at the start. Gross MRR churn = (churn + contraction) / start. Net MRR churn = (churn + contraction - expansion - reactivation) / start. Totals compare start and end of the whole range. Churn counts when the paid period ends.',
  shape: {
    currency,
    totals: z.object(churnShape),
    series: z.array(z.object({ ...periodShape, ...churnShape })),
  },

  parts: ({ model, settings }) => [bookOf(model, settings)],
  answer({ model, settings, periods, start, end, now }) {
    const book = bookOf(model, settings);
    const series = movementsOf(book, periods).map((movement, at) => ({
      ...periodHead(periodAt(periods, at), now),
      ...churnOf(movement, book),
    }));
    const totals = movements(book, [start, end]).map((movement) => churnOf(movement, book))[0];
    if (!totals) throw new Error('A range has a movement.');
    return { currency: book.money.currency, totals, series, ...book.money.warnings() };
  },
});

/** Customer churn of the last complete calendar months at the time, as many as asked for, oldest first. */
export function monthlyChurn(book: Book, zone: string, time: number, months: number): (number | null)[] {
  const last = floorTo(dateIn(zone, time), 'month');
  const periods = periodsOf(addIntervals(last, 'month', -months), last, 'month', zone);
  return movementsOf(book, periods).map((movement) => ratio(movement.churnedCustomers, movement.customersAtStart));
}

const ltvShape = {
  mrr: amount,
  customers: count,
  arpa: amount.nullable().describe('MRR / paying customers.'),
  meanMonthlyChurn: share,
  ltv: amount.nullable(),
};

/** The mean churn of the six complete months before a time, computed once for each month. */
function meanChurnIn(book: Book, zone: string): (time: number) => number | null {
  const known = new Map<string, number | null>();
  return (time) => {
    const month = floorTo(dateIn(zone, time), 'month');
    let mean = known.get(month);
    if (mean === undefined) {
      const churns = monthlyChurn(book, zone, time, 6).filter((churn) => churn !== null);
      mean = churns.length === 0 ? null : churns.reduce((sum, churn) => sum + churn, 0) / churns.length;
      known.set(month, mean);
    }
    return mean;
  };
}

function ltvOf({ money }: Book, { mrr, customers }: RevenueStanding, churn: number | null) {
  const arpa = ratio(money.exact(mrr), customers);
  return {
    mrr: money.major(mrr),
    customers,
    arpa: arpa === null ? null : roundCents(arpa),
    meanMonthlyChurn: churn,
    ltv: arpa === null || !churn ? null : roundCents(arpa / churn),
  };
}

export const getLtv = metric({
  name: 'get_ltv',
  title: 'Get LTV',
  description:
    'Customer lifetime value with the ARPA and churn it is computed from, at the end of each period and of the range.',
  topic: 'revenue',
  interval: 'month',
  definition:
    'LTV = ARPA / mean monthly customer churn of the six complete calendar months before; null when that is zero or undefined. ARPA = MRR / paying customers. Months without customers at their start are left out of the mean. Totals are those of the end of the range, or of asOf where that is earlier.',
  shape: { currency, totals: z.object(ltvShape), series: z.array(z.object({ ...periodShape, ...ltvShape })) },

  parts: ({ model, settings }) => [bookOf(model, settings)],
  answer({ model, settings, periods, zone, end, now }) {
    const book = bookOf(model, settings);
    const meanChurn = meanChurnIn(book, zone);
    const series = periods.map((period) => ({
      ...periodHead(period, now),
      ...ltvOf(book, book.customers.standing(period.end), meanChurn(Math.min(period.end, now))),
    }));
    const until = book.customers.standing(end <= now ? end : now + 1);
    const totals = ltvOf(book, until, meanChurn(Math.min(end, now)));
    return { currency: book.money.currency, totals, series, ...book.money.warnings() };
  },
});

const standing = { trialing: count, active: count, pastDue: count, canceled: count };
const flow = { started: count.describe('Became active for the first time.'), ended: count };

export const getSubscriptions = metric({
  name: 'get_subscriptions',
  title: 'Get subscriptions',
  description:
    'Subscriptions by state and by plan at the end of the range, and per period how many started, ended and stood at its end.',
  topic: 'revenue',
  interval: 'month',
  definition:
    'The state of a subscription at a time follows from its dates: trialing in its trial, else active or past due, canceled once its paid time ended. Started: left none or trial for active or past due for the first time; ended: became canceled. MRR of a plan as in get_mrr. Totals and rows stand at the end of the range.',
  shape: {
    currency,
    totals: z.object({ ...standing, ...flow }),
    rows: z.array(z.object({ plan: z.string(), ...standing, mrr: amount })),
    series: z.array(z.object({ ...periodShape, ...standing, ...flow })),
  },

  parts: ({ model, settings }) => [bookOf(model, settings)],
  answer({ model, settings, periods, end, now }) {
    const book = bookOf(model, settings);
    const { subscriptions, money } = book;
    const [first] = periods;
    let counts = subscriptions.flows(Number.NEGATIVE_INFINITY, first?.start ?? 0).counts();
    const series = periods.map((period) => {
      const flows = subscriptions.flows(period.start, period.end);
      counts = plus(counts, flows.counts());
      return { ...periodHead(period, now), ...counts, started: flows.started, ended: flows.ended };
    });
    const totals = {
      ...counts,
      started: series.reduce((sum, { started }) => sum + started, 0),
      ended: series.reduce((sum, { ended }) => sum + ended, 0),
    };
    const rows = subscriptions
      .plansAt(end)
      .map((row) => ({ ...row, mrr: money.major(row.mrr) }))
      .sort((a, b) => b.mrr - a.mrr || (a.plan < b.plan ? -1 : 1));
    return { currency: money.currency, totals, rows, series, ...money.warnings() };
  },
});

export function periodAt(periods: readonly Period[], at: number): Period {
  const period = periods[at];
  if (!period) throw new Error('There is no such period.');
  return period;
}

/** The last complete calendar month before the time. */
export function lastMonth(zone: string, time: number): Period {
  const to = floorTo(dateIn(zone, time), 'month');
  const from = addIntervals(to, 'month', -1);
  return { from, to, start: startOf(from, zone), end: startOf(to, zone) };
}
