import type { z } from 'zod';
import type { InvoiceRow, SubscriptionRow, UserRow } from '../../resources/imported-rows.ts';
import type { userBilling } from '../../resources/product-user.ts';
import type { SettingsRecord } from '../../resources/settings.ts';
import {
  type ImportedModel,
  MICROS,
  Money,
  type Phase,
  paidUntil,
  roundCents,
  timelineOf,
  unitsIn,
} from '../analytics/exports.ts';

const MOST_INVOICES = 100;

/** What a user pays at the time. */
export function billingOf(
  model: ImportedModel,
  settings: SettingsRecord,
  uid: string,
  now: number,
): z.input<typeof userBilling> {
  const money = new Money(settings);
  const subscriptions = model.owned.subscriptions.of(uid).flatMap((id) => {
    const states = model.subscriptions.get(id);
    const row = states?.list.findLast(({ from }) => from <= now)?.row ?? states?.list[0]?.row;
    if (!states || !row) return [];
    const step = timelineOf(states, money).findLast(({ time }) => time <= now);
    const phase: Phase = step?.phase ?? 'none';
    return [{ row, phase, mrr: step?.mrr ?? 0 }];
  });
  subscriptions.sort((a, b) => b.mrr - a.mrr || rank(b.phase) - rank(a.phase) || compare(b.row, a.row));
  const [main] = subscriptions;
  const invoices = model.owned.invoices.of(uid).flatMap((id) => model.invoices.get(id) ?? []);
  const ends = main && paidUntil(main.row);
  const trialEnd = main?.phase === 'trialing' ? main.row.trialEnd : undefined;
  return {
    uid,
    plan: main?.row.plan ?? null,
    status: main?.phase ?? 'none',
    currency: money.currency,
    interval: main?.row.interval ?? null,
    mrr: money.major(subscriptions.reduce((sum, { mrr }) => sum + mrr, 0)),
    currentPeriodEnd: main && main.phase !== 'canceled' ? periodEnd(main.row, now) : null,
    trialEndsAt: trialEnd ?? null,
    cancelAt: ends !== undefined && Number.isFinite(ends) ? new Date(ends).toISOString() : null,
    lifetimeValue: lifetimeValue(invoices, money),
    paymentMethod: paymentMethodOf(model.users.get(uid)),
    invoices: latest(invoices).map(showInvoice),
  };
}

function paymentMethodOf(user: UserRow | undefined) {
  if (user?.paymentBrand === undefined || user.paymentLast4 === undefined) return null;
  return { brand: user.paymentBrand, last4: user.paymentLast4 };
}

function compare(a: SubscriptionRow, b: SubscriptionRow): number {
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? -1 : 1;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

function rank(phase: Phase): number {
  return ['none', 'canceled', 'trialing', 'past_due', 'active'].indexOf(phase);
}

function lifetimeValue(invoices: readonly InvoiceRow[], money: Money): number {
  const sum = invoices
    .filter(({ status }) => status === 'paid')
    .reduce((total, row) => {
      const minor = row.total - row.tax;
      const time = Date.parse(row.issuedAt);
      return total + (money.convert(minor, row.currency, time, { type: 'invoices', id: row.id }) ?? 0);
    }, 0);
  return money.major(sum * MICROS);
}

function latest(invoices: readonly InvoiceRow[]): InvoiceRow[] {
  const newest = [...invoices].sort((a, b) =>
    a.issuedAt === b.issuedAt ? (a.id < b.id ? 1 : -1) : a.issuedAt < b.issuedAt ? 1 : -1,
  );
  return newest.slice(0, MOST_INVOICES);
}

function showInvoice({ uid: _, total, tax, ...rest }: InvoiceRow) {
  const units = unitsIn(rest.currency);
  return { ...rest, total: roundCents(total / units), tax: roundCents(tax / units) };
}

/** The end of the current billing period or of the trial. Periods are counted from the end of the trial, or from the start. */
function periodEnd(row: SubscriptionRow, now: number): string {
  const anchor = new Date(row.trialEnd ?? row.startedAt);
  if (anchor.getTime() > now) return anchor.toISOString();
  const { interval, intervalCount } = row;
  const days = { day: 1, week: 7, month: 30, year: 365 }[interval] * intervalCount;
  // Starts with a count that may be too low, and goes on to the first period that has not ended.
  let count = Math.max(0, Math.floor((now - anchor.getTime()) / 86_400_000 / (days * 1.04)) - 1);
  let end = anchor;
  while (end.getTime() <= now) {
    count += 1;
    end = later(anchor, interval, intervalCount * count);
  }
  return end.toISOString();
}

/** A month without this day ends on its last day: 31 January, 28 February, 31 March. */
function later(anchor: Date, interval: SubscriptionRow['interval'], count: number): Date {
  if (interval === 'day' || interval === 'week') {
    return new Date(anchor.getTime() + count * (interval === 'week' ? 7 : 1) * 86_400_000);
  }
  const months = anchor.getUTCMonth() + count * (interval === 'year' ? 12 : 1);
  const end = new Date(anchor);
  end.setUTCDate(1);
  end.setUTCMonth(months);
  const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
  end.setUTCDate(Math.min(anchor.getUTCDate(), lastDay));
  return end;
}
