import type { SubscriptionRow } from '../../../resources/imported-rows.ts';
import type { States } from '../model/states.ts';
import { MICROS, type Money } from './money.ts';

export const PHASES = ['none', 'trialing', 'active', 'past_due', 'canceled'] as const;
export type Phase = (typeof PHASES)[number];

/** From this time on, the subscription is in the phase and pays this much a month (millionths of a minor unit). */
export interface PhaseStep {
  readonly time: number;
  readonly phase: Phase;
  readonly mrr: number;
  readonly plan: string;
}

/** The steps of a subscription, from the statements about it. Steps without a change are left out. */
export function timelineOf(states: States<SubscriptionRow>, money: Money): PhaseStep[] {
  const steps: PhaseStep[] = [];
  let plan = '';
  for (const { row, start, end, cut } of windows(states)) {
    const value = monthly(row, start, money);
    const marks = [row.startedAt, trialStart(row), row.trialEnd, row.discountEndsAt].map(instant);
    const times = [start, ...marks, cut].filter((time) => time >= start && time < end).sort((a, b) => a - b);
    for (const time of new Set(times)) {
      const phase = time >= cut ? 'canceled' : phaseAt(row, time);
      const mrr = phase === 'active' || phase === 'past_due' ? value(time) : 0;
      const before = steps.at(-1);
      if (before ? before.phase === phase && before.mrr === mrr && plan === row.plan : phase === 'none') continue;
      plan = row.plan;
      steps.push({ time, phase, mrr, plan });
    }
  }
  return steps;
}

/**
 * Each statement with the period for which it counts. `cut` is when the subscription ended, if this or a later statement says so, because
 * an end is often imported after it happened.
 */
function windows(states: States<SubscriptionRow>) {
  let cut = Number.POSITIVE_INFINITY;
  let end = Number.POSITIVE_INFINITY;
  const found: { row: SubscriptionRow; start: number; end: number; cut: number }[] = [];
  for (const [at, { row, from }] of [...states.list.entries()].reverse()) {
    cut = Math.min(cut, paidUntil(row));
    // The first statement counts from the start of the subscription.
    const start = at === 0 ? Math.min(from, Date.parse(row.startedAt), Date.parse(trialStart(row))) : from;
    found.unshift({ row, start, end, cut });
    end = start;
  }
  return found;
}

/** When the paid time ends. An earlier announcement of the end does not count. */
export function paidUntil(row: SubscriptionRow): number {
  if (row.endedAt !== undefined) return Date.parse(row.endedAt);
  return row.status === 'canceled' ? instant(row.canceledAt) : Number.POSITIVE_INFINITY;
}

function phaseAt(row: SubscriptionRow, time: number): Phase {
  if (time < Date.parse(row.startedAt) && !inTrial(row, time)) return 'none';
  if (inTrial(row, time)) return 'trialing';
  return row.status === 'past_due' ? 'past_due' : 'active';
}

/** A trial without an end lasts as long as the status says so. */
function inTrial(row: SubscriptionRow, time: number): boolean {
  if (row.trialEnd === undefined) return row.status === 'trialing' && time >= Date.parse(trialStart(row));
  return time >= Date.parse(trialStart(row)) && time < Date.parse(row.trialEnd);
}

function trialStart(row: SubscriptionRow): string {
  return row.trialStart ?? row.startedAt;
}

const PERIODS_A_MONTH = { month: 1, year: 1 / 12, week: 52 / 12, day: 365 / 12 };

/** What the subscription pays a month at a time, by the exchange rate of the month in which the statement began to count. */
function monthly(row: SubscriptionRow, start: number, money: Money): (time: number) => number {
  const rated = money.convert(1, row.currency, start, { type: 'subscriptions', id: row.id });
  const full = row.amount * row.quantity;
  const off = row.discountPercent === undefined ? (row.discountAmount ?? 0) : (full * row.discountPercent) / 100;
  const discountEnd = row.discountEndsAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(row.discountEndsAt);
  const factor = ((rated ?? 0) * PERIODS_A_MONTH[row.interval] * MICROS) / row.intervalCount;
  return (time) => Math.round((time < discountEnd ? Math.max(0, full - off) : full) * factor);
}

function instant(time: string | undefined): number {
  return time === undefined ? Number.NaN : Date.parse(time);
}
