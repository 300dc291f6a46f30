import { metricExamples, months } from './metric.ts';

const february = { from: '2026-02-01', to: '2026-03-01', interval: 'month', timezone: 'UTC' };
const still = { start: 0, new: 0, reactivation: 0, expansion: 0, contraction: 0, churn: 0, end: 0, mrr: 0 };
const nobody = {
  customersAtStart: 0,
  churnedCustomers: 0,
  customerChurn: null,
  startMrr: 0,
  churnedMrr: 0,
  contractionMrr: 0,
  grossMrrChurn: null,
  netMrrChurn: null,
};
const halfChurned = {
  ...nobody,
  customersAtStart: 2,
  churnedCustomers: 1,
  customerChurn: 0.5,
  startMrr: 30,
  churnedMrr: 20,
  grossMrrChurn: 0.6666666666666666,
  netMrrChurn: 0.6666666666666666,
};
const currency = 'EUR';
const valueNow = { mrr: 10, customers: 1, arpa: 10, meanMonthlyChurn: 0.5, ltv: 20 };
const valueBefore = { mrr: 30, customers: 2, arpa: 15, meanMonthlyChurn: null, ltv: null };
const twoActive = { trialing: 0, active: 2, pastDue: 0, canceled: 0 };
const oneCanceled = { trialing: 0, active: 1, pastDue: 0, canceled: 1 };

export const analyticsExamples = metricExamples({
  get_insights: {
    totals: { insights: 2, critical: 2, warning: 0 },
    rows: [
      {
        kind: 'change',
        severity: 'critical',
        title: 'MRR fell by 66.7 % in 2026-02',
        detail: 'From 30 to 10 EUR; the largest movement is churn.',
        evidence: [
          { tool: 'get_mrr', arguments: february, member: 'totals.start', value: 30 },
          { tool: 'get_mrr', arguments: february, member: 'totals.end', value: 10 },
        ],
      },
      {
        kind: 'churn',
        severity: 'critical',
        title: '50 % of customers churned in 2026-02',
        detail: 'The mean of the six months before is 0 %.',
        evidence: [{ tool: 'get_churn', arguments: february, member: 'totals.customerChurn', value: 0.5 }],
      },
    ],
  },
  get_overview: {
    totalUsers: 1,
    mrr: 10,
    churnRate: 0,
    currency,
    totals: { users: 1, newUsers: 1, activeUsers: 1, payingCustomers: 1, mrr: 10 },
    series: months(
      { users: 1, newUsers: 1, activeUsers: 1, payingCustomers: 2, mrr: 30 },
      { users: 1, newUsers: 0, activeUsers: 1, payingCustomers: 1, mrr: 10 },
    ),
  },
  get_churn: { currency, totals: nobody, series: months(nobody, halfChurned) },
  get_ltv: { currency, totals: valueNow, series: months(valueBefore, valueNow) },
  get_mrr: {
    currency,
    totals: { ...still, new: 30, churn: 20, end: 10, mrr: 10 },
    series: months({ ...still, new: 30, end: 30, mrr: 30 }, { ...still, start: 30, churn: 20, end: 10, mrr: 10 }),
  },
  get_subscriptions: {
    currency,
    totals: { ...oneCanceled, started: 2, ended: 1 },
    rows: [{ plan: 'pro', ...oneCanceled, mrr: 10 }],
    series: months({ ...twoActive, started: 2, ended: 0 }, { ...oneCanceled, started: 0, ended: 1 }),
  },
});
