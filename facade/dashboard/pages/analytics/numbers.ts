import { labelOf, money, number, partsOf, percent } from '../../app.ts';
import type { GrowthProps } from '../../components/growth.tsx';

const SHARE = /churn$|rate$|adoption|conversion|stickiness|share|^average$/i;
const COUNTED = /^(customersAtStart|churnedCustomers|churn)$/;
const AMOUNT = /mrr$|^(arpa|ltv|start|end|new|reactivation|expansion|contraction|churn)$|Mrr$/;

function isShare(member: string): boolean {
  return !COUNTED.test(member) && SHARE.test(member);
}

/** How the numbers of a member are written: as money, as a share, as a time, or as they are. */
export function formatOf(member: string, currency: string | undefined): (value: number) => string {
  if (currency !== undefined && AMOUNT.test(member) && !/Churn$/.test(member)) {
    return (value) => money(value, currency, Math.abs(value) < 1000 && !Number.isInteger(value) ? 2 : 0);
  }
  if (isShare(member)) return (value) => percent(value);
  return /Seconds/.test(member) ? seconds : (value) => number(value);
}

export function write(member: string, value: unknown, currency: string | undefined): string {
  if (typeof value === 'number') return formatOf(member, currency)(value);
  return value === null || value === undefined ? '–' : String(value);
}

function seconds(value: number): string {
  if (value < 90) return `${Math.round(value)} s`;
  if (value < 90 * 60) return `${Math.round(value / 60)} min`;
  return value < 48 * 3600
    ? `${number(Math.round(value / 360) / 10)} h`
    : `${number(Math.round(value / 8640) / 10)} days`;
}

const SHORT: Readonly<Record<string, string>> = {
  dau: 'Daily',
  wau: 'Weekly',
  mau: 'Monthly',
  medianDurationSeconds: 'Median duration',
  medianSecondsFromPrevious: 'Median time',
  conversionFromFirst: 'Of the first step',
  conversionFromPrevious: 'Of the step before',
  averageDau: 'Daily on average',
  arpa: 'Revenue per customer',
  ltv: 'Lifetime value',
  mrr: 'MRR',
  startMrr: 'MRR at start',
  churnedMrr: 'Churned MRR',
  contractionMrr: 'Contracted MRR',
  grossMrrChurn: 'Gross MRR churn',
  netMrrChurn: 'Net MRR churn',
};

export function wordsOf(member: string): string {
  return SHORT[member] ?? labelOf(member);
}

export function periodOf(from: string, interval: string | undefined): string {
  const { day, month, year } = partsOf(from);
  return interval === 'month' ? `${month} ${year.slice(2)}` : `${month} ${day}`;
}

/** A share of fewer than these, or more than ten times of what it was, says less than the difference. */
const FEW = 10;

/** How a number changed since the period before, and whether less of it is better. Undefined if that says nothing. */
export function changeOf(member: string, now: unknown, before: unknown, currency?: string): GrowthProps | undefined {
  if (typeof now !== 'number' || typeof before !== 'number') return undefined;
  const inverse = /churn|contraction|bounce|pastDue|ended|deleted|critical|warning|insights/i.test(member);
  const difference = now - before;
  if (difference === 0) return { value: 0, words: 'unchanged' };
  if (isShare(member)) {
    const points = Math.round(difference * 1000) / 10;
    return { value: points, inverse, words: `${number(Math.abs(points))} points` };
  }
  const value = before === 0 ? difference : difference / Math.abs(before);
  const isShareTelling = Math.abs(before) >= FEW && Math.abs(value) <= 10;
  return { value, inverse, ...(!isShareTelling && { words: formatOf(member, currency)(Math.abs(difference)) }) };
}
