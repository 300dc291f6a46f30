import { z } from 'zod';
import type { NamedQuery } from '../../../store/rows-port.ts';
import { addIntervals } from '../calendar.ts';
import { isBefore, isIn, periodsFrom } from '../periods.sql.ts';
import { limitsOf, metric, periodShape, ratio, seriesOf, share } from '../request.ts';
import { Money, roundCents } from './money.ts';
import {
  type Bridge,
  bridge,
  customerChurn,
  type Movement,
  meanChurn,
  monthlyChurn,
  monthOf,
  movementOf,
  movementsOf,
  type RevenueStanding,
  standingAtEnd,
  totalOf,
} from './movements.ts';
import { warningsOf } from './rates.ts';

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

export const getMrr = metric({
  name: 'get_mrr',
  title: 'Get MRR',
  description:
    'Monthly recurring revenue at the end of each period and what moved it: new, reactivation, expansion, contraction, churn. The bridge from start to end always closes.',
  keywords:
    'recurring revenue, ARR, income, sales, turnover, how much money do we make, growth, expansion, earnings, monthly income, how much revenue, is revenue growing',
  topic: 'revenue',
  interval: 'month',
  definition:
    'MRR at a time is the sum over subscriptions that are active or past due then and outside their trial of amount x quantity, less the discount still running, normalised to a month (year / 12, week x 52 / 12, day x 365 / 12), without tax. Movements are per customer between start and end of a period: new (from 0 for the first time), reactivation (from 0, had paid before), expansion, contraction, churn (to 0); start + new + reactivation + expansion - contraction - churn = end. Totals add up the periods. A subscription counts until its paid time ends; foreign currencies are converted by the rate of the month in which its terms began.',
  shape: {
    currency,
    totals: z.object({
      ...bridgeShape,
      mrr: amount.describe('At the end of the range, or at asOf where that is earlier.'),
    }),
    series: z.array(z.object({ ...periodShape, ...bridgeShape, mrr: amount.describe('At the end of the period.') })),
  },

  async answer({ settings, periods, end, now }, rows) {
    const money = new Money(settings);
    const bridges = (await movementsOf(rows, periods)).map((movement) => bridge(movement, money));
    const series = seriesOf({ periods, now }, bridges, (closed) => ({ ...closed, mrr: closed.end }));
    const mrr = money.major((await standingAtEnd(rows, { end, now })).mrr);
    const totals = { ...totalOf(bridges, roundCents), mrr };
    return { currency: money.currency, totals, series, ...(await warningsOf(rows, money)) };
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

/** Amounts are shown as in get_mrr, to the cent. Rates are those of the exact amounts. */
function churnOf(customers: Movement, exact: Bridge, rounded: Bridge) {
  const { start, churn, contraction, expansion, reactivation } = exact;
  return {
    customersAtStart: customers.customersAtStart,
    churnedCustomers: customers.churnedCustomers,
    customerChurn: customerChurn(customers),
    startMrr: rounded.start,
    churnedMrr: rounded.churn,
    contractionMrr: rounded.contraction,
    grossMrrChurn: ratio(churn + contraction, start),
    netMrrChurn: ratio(churn + contraction - expansion - reactivation, start),
  };
}

export const getChurn = metric({
  name: 'get_churn',
  title: 'Get churn',
  description:
    'Customer churn, gross and net MRR churn per period and over the whole range, as fractions; null where there was nothing to lose.',
  keywords:
    'cancellations, lost customers, attrition, lost revenue, who leaves, cancel rate, how many customers are we losing, who cancelled, why is revenue shrinking',
  topic: 'revenue',
  interval: 'month',
  definition:
    'Customer churn = customers at the start who are at 0 at the end / customers at the start. Gross MRR churn = (churn + contraction) / start. Net MRR churn = (churn + contraction - expansion - reactivation) / start. Totals count the customers between start and end of the whole range, and add up what MRR lost in each period, as get_mrr does. Churn counts when the paid period ends.',
  shape: {
    currency,
    totals: z.object(churnShape),
    series: z.array(z.object({ ...periodShape, ...churnShape })),
  },

  async answer({ settings, periods, start, end, now }, rows) {
    const money = new Money(settings);
    const movements = await movementsOf(rows, periods);
    const bridges = movements.map((movement) => bridge(movement, money));
    const series = seriesOf({ periods, now }, movements, (movement) =>
      churnOf(movement, movement, bridge(movement, money)),
    );
    const range = await movementOf(rows, { start, end });
    const totals = churnOf(range, totalOf(movements), totalOf(bridges, roundCents));
    return { currency: money.currency, totals, series, ...(await warningsOf(rows, money)) };
  },
});

const ltvShape = {
  mrr: amount,
  customers: count,
  arpa: amount.nullable().describe('MRR / paying customers.'),
  meanMonthlyChurn: share,
  ltv: amount.nullable(),
};

/** The complete months whose churn counts. */
const MONTHS = 6;

function ltvOf(money: Money, { mrr, customers }: RevenueStanding, churn: number | null) {
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
  keywords: 'lifetime value, CLV, what a customer is worth, ARPU, ARPA, how much is a customer worth',
  topic: 'revenue',
  interval: 'month',
  definition:
    'LTV = ARPA / mean monthly customer churn of the six complete calendar months before; null when that is zero or undefined. ARPA = MRR / paying customers. Months without customers at their start are left out of the mean. Totals are those of the end of the range, or of asOf where that is earlier.',
  shape: { currency, totals: z.object(ltvShape), series: z.array(z.object({ ...periodShape, ...ltvShape })) },

  async answer({ settings, periods, zone, end, now }, rows) {
    const money = new Money(settings);
    const monthAt = (time: number) => monthOf(zone, Math.min(time, now));
    const [from, to] = [addIntervals(monthAt(periods[0]?.end ?? end), 'month', -MONTHS), monthAt(end)];
    const churns = await monthlyChurn(rows, { from, to, zone });
    const series = seriesOf({ periods, now }, await movementsOf(rows, periods), (movement, period) =>
      ltvOf(
        money,
        { mrr: movement.end, customers: movement.customersAtEnd },
        meanChurn(churns, monthAt(period.end), MONTHS),
      ),
    );
    const standing = await standingAtEnd(rows, { end, now });
    const totals = ltvOf(money, standing, meanChurn(churns, monthAt(end), MONTHS));
    return { currency: money.currency, totals, series, ...(await warningsOf(rows, money)) };
  },
});

const standing = { trialing: count, active: count, pastDue: count, canceled: count };
const flow = { started: count.describe('Became active for the first time.'), ended: count };

export const getSubscriptions = metric({
  name: 'get_subscriptions',
  title: 'Get subscriptions',
  description:
    'Subscriptions by state and by plan at the end of the range, and per period how many started, ended and stood at its end.',
  keywords:
    'plans, paying customers, trials, trial conversion, how many subscribers, active plans, how many paying customers, subscriptions by plan, how many trials convert',
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

  async answer({ settings, periods, end, now }, rows) {
    const money = new Money(settings);
    const standings = await rows.query<Standing & Flow>(subscriptionsByPeriod, [limitsOf(periods)]);
    const series = seriesOf({ periods, now }, standings, (standing) => standing);
    const { trialing = 0, active = 0, pastDue = 0, canceled = 0 } = series.at(-1) ?? {};
    const totals = {
      trialing,
      active,
      pastDue,
      canceled,
      started: series.reduce((sum, { started }) => sum + started, 0),
      ended: series.reduce((sum, { ended }) => sum + ended, 0),
    };
    const plans = await rows.query<{ plan: string; mrr: number } & Standing>(plansAt, [end]);
    const byPlan = plans
      .map((row) => ({ ...row, mrr: money.major(row.mrr) }))
      .sort((a, b) => b.mrr - a.mrr || (a.plan < b.plan ? -1 : 1));
    return { currency: money.currency, totals, rows: byPlan, series, ...(await warningsOf(rows, money)) };
  },
});

type Standing = { readonly [Member in keyof typeof standing]: number };
type Flow = { readonly [Member in keyof typeof flow]: number };

const more = (phase: string) =>
  `count(case when phase = '${phase}' then 1 end) - count(case when phase_before = '${phase}' then 1 end)`;

/**
 * How many subscriptions stand in each phase at the end of each period, and how many started (active or past due for the first time) and
 * ended (became canceled) within, from subscription_steps. What stands at the end is the sum of all steps up to it. $1: limits of the periods.
 */
const subscriptionsByPeriod: NamedQuery = {
  name: 'subscriptions by period',
  sql: `
    with ${periodsFrom('$1')},
    steps as (
      select 0 as period, phase, phase_before, is_start from subscription_steps where ${isBefore('time_ms')}
      union all
      select period, phase, phase_before, is_start from subscription_steps join cells on ${isIn('time_ms')}
    ),
    moved as (
      select period,
        ${more('trialing')} as trialing,
        ${more('active')} as active,
        ${more('past_due')} as past_due,
        ${more('canceled')} as canceled,
        count(case when is_start then 1 end) as started,
        count(case when phase = 'canceled' and (phase_before is null or phase_before <> 'canceled') then 1 end) as ended
      from steps
      group by period
    ),
    every as (select 0 as period union all select period from periods),
    standing as (
      select period,
        cast(coalesce(sum(trialing) over so_far, 0) as bigint) as trialing,
        cast(coalesce(sum(active) over so_far, 0) as bigint) as active,
        cast(coalesce(sum(past_due) over so_far, 0) as bigint) as past_due,
        cast(coalesce(sum(canceled) over so_far, 0) as bigint) as canceled,
        coalesce(started, 0) as started,
        coalesce(ended, 0) as ended
      from every left join moved using (period)
      window so_far as (order by period)
    )
    select trialing, active, past_due as "pastDue", canceled, started, ended from standing where period > 0 order by period`,
};

/** How many subscriptions of each plan stand in each phase at a moment, and what they pay a month, after every step before it. $1: the moment. */
const plansAt: NamedQuery = {
  name: 'subscriptions by plan',
  sql: `
    with standing as (
      select plan, case when time_ms < $1 and (next_ms is null or next_ms >= $1) then phase end as phase, mrr from subscription_steps
    )
    select plan,
      count(case when phase = 'trialing' then 1 end) as trialing,
      count(case when phase = 'active' then 1 end) as active,
      count(case when phase = 'past_due' then 1 end) as "pastDue",
      count(case when phase = 'canceled' then 1 end) as canceled,
      sum(case when phase is null then 0 else mrr end) as mrr
    from standing
    group by plan`,
};
