import { z } from 'zod';
import { addIntervals, dateIn, floorTo, type Period, periodsOf, startOf } from '../calendar.ts';
import { metric, periodHead, periodShape, type Question, ratio, share } from '../request.ts';
import { type Book, bookOf, changesBefore } from './book.ts';
import { roundCents } from './money.ts';
import { bridge, type Movement, movements, standingAt } from './movements.ts';
import { PHASES } from './timeline.ts';

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
    return { currency: money.currency, totals, series, ...book.warnings };
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

  answer({ model, settings, periods, start, end, now }) {
    const book = bookOf(model, settings);
    const series = movementsOf(book, periods).map((movement, at) => ({
      ...periodHead(periodAt(periods, at), now),
      ...churnOf(movement, book),
    }));
    const totals = movements(book, [start, end]).map((movement) => churnOf(movement, book))[0];
    if (!totals) throw new Error('A range has a movement.');
    return { currency: book.money.currency, totals, series, ...book.warnings };
  },
});

/** Customer churn of the complete calendar months that end at or before the time, as many as asked, oldest first. */
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

function ltvAt(book: Book, { zone }: Question, movement: Movement, time: number) {
  const { money } = book;
  const known = monthlyChurn(book, zone, time, 6).filter((value) => value !== null);
  const churn = known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  const arpa = ratio(money.exact(movement.end), movement.customersAtEnd);
  return {
    mrr: money.major(movement.end),
    customers: movement.customersAtEnd,
    arpa: arpa === null ? null : roundCents(arpa),
    meanMonthlyChurn: churn,
    ltv: arpa === null || !churn ? null : roundCents(arpa / churn),
  };
}

export const getLtv = metric({
  name: 'get_ltv',
  title: 'Get LTV',
  description:
    'Customer lifetime value with the ARPA and churn it is made of, at the end of each period and at the end.',
  topic: 'revenue',
  interval: 'month',
  definition:
    'LTV = ARPA / mean monthly customer churn of the six complete calendar months before; null when that is zero or undefined. ARPA = MRR / paying customers. Months without customers at their start are left out of the mean. Totals are those of the end of the range, or of asOf where that is earlier.',
  shape: { currency, totals: z.object(ltvShape), series: z.array(z.object({ ...periodShape, ...ltvShape })) },

  answer(question) {
    const { model, settings, periods, end, now } = question;
    const book = bookOf(model, settings);
    const series = movementsOf(book, periods).map((movement, at) => {
      const period = periodAt(periods, at);
      return { ...periodHead(period, now), ...ltvAt(book, question, movement, Math.min(period.end, now)) };
    });
    const time = Math.min(end, now);
    const [until] = movements(book, [Number.NEGATIVE_INFINITY, end <= now ? end : now + 1]);
    if (!until) throw new Error('A range has a movement.');
    return { currency: book.money.currency, totals: ltvAt(book, question, until, time), series, ...book.warnings };
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

  answer({ model, settings, periods, now }) {
    const book = bookOf(model, settings);
    const walk = new SubscriptionWalk(book);
    const [first] = periods;
    if (first) walk.to(first.start);
    const series = periods.map((period) => {
      const flows = walk.to(period.end);
      return { ...periodHead(period, now), ...walk.counts(), ...flows };
    });
    const totals = {
      ...walk.counts(),
      started: series.reduce((sum, { started }) => sum + started, 0),
      ended: series.reduce((sum, { ended }) => sum + ended, 0),
    };
    return { currency: book.money.currency, totals, rows: walk.plans(), series, ...book.warnings };
  },
});

/** Goes through the changes of subscriptions and keeps where each stands. */
class SubscriptionWalk {
  readonly #book: Book;
  readonly #phase: Uint32Array;
  readonly #plan: Uint32Array;
  readonly #mrr: Float64Array;
  readonly #wasActive: Uint8Array;
  #at = 0;

  constructor(book: Book) {
    const { count: size } = book.subscriptions;
    this.#book = book;
    this.#phase = new Uint32Array(size);
    this.#plan = new Uint32Array(size);
    this.#mrr = new Float64Array(size);
    this.#wasActive = new Uint8Array(size);
  }

  /** On to before the time; how many started and ended on the way. */
  to(time: number): { started: number; ended: number } {
    const { subscriptions: changes } = this.#book;
    const limit = changesBefore(changes, time);
    let [started, ended] = [0, 0];
    for (; this.#at < limit; this.#at += 1) {
      const who = changes.who[this.#at] ?? 0;
      const phase = changes.phase[this.#at] ?? 0;
      const name = PHASES[phase];
      if ((name === 'active' || name === 'past_due') && !this.#wasActive[who]) {
        started += 1;
        this.#wasActive[who] = 1;
      }
      if (name === 'canceled' && PHASES[this.#phase[who] ?? 0] !== 'canceled') ended += 1;
      this.#phase[who] = phase;
      this.#plan[who] = changes.plan[this.#at] ?? 0;
      this.#mrr[who] = changes.mrr[this.#at] ?? 0;
    }
    return { started, ended };
  }

  counts() {
    const counts = PHASES.map(() => 0);
    for (const phase of this.#phase) counts[phase] = (counts[phase] ?? 0) + 1;
    const [, trialing = 0, active = 0, pastDue = 0, canceled = 0] = counts;
    return { trialing, active, pastDue, canceled };
  }

  plans() {
    const { plans, money } = this.#book;
    const rows = plans.texts.map((plan) => ({ plan, trialing: 0, active: 0, pastDue: 0, canceled: 0, mrr: 0 }));
    const members = [undefined, 'trialing', 'active', 'pastDue', 'canceled'] as const;
    for (const [who, phase] of this.#phase.entries()) {
      const row = rows[this.#plan[who] ?? 0];
      const member = members[phase];
      if (!row || !member) continue;
      row[member] += 1;
      row.mrr += this.#mrr[who] ?? 0;
    }
    return rows
      .map((row) => ({ ...row, mrr: money.major(row.mrr) }))
      .sort((a, b) => b.mrr - a.mrr || (a.plan < b.plan ? -1 : 1));
  }
}

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
