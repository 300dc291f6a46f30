import type { SubscriptionRow } from '../../resources/imported-rows.ts';
import { Chance, DAY, iso, material, type Span, type Statement, statement } from './story.ts';
import type { DemoUser } from './users.ts';

type Terms = Pick<SubscriptionRow, 'plan' | 'amount' | 'currency' | 'interval' | 'quantity'>;

export interface Subscription {
  readonly id: string;
  readonly user: DemoUser;
  /** When the trial is over and paying begins. */
  readonly paidFrom: number;
  readonly terms: { readonly time: number; readonly terms: Terms }[];
  endedAt?: number;
}

const { churn, plans } = material;
const [STARTER, PRO, BUSINESS] = plans;

/** Shares of the customers at the start of a month to whom something happens in it; at least one each, where there are a few. */
const EXPANSION = 0.045;
const CONTRACTION = 0.016;
const RETURN = 0.04;
const FEW = 15;

/** Subscriptions month by month, so that each month has movements of every kind. */
export function makeSubscriptions({ months }: Span, users: readonly DemoUser[]): Subscription[] {
  const chance = new Chance(2);
  const all: Subscription[] = [];
  const starters = users.filter(({ upgradedAt }) => upgradedAt !== undefined);
  for (const [at, { start, end }] of months.entries()) {
    const settled = all.filter((one) => one.paidFrom < start && one.endedAt === undefined);
    const lost = all.filter(
      (one) => one.endedAt !== undefined && one.endedAt < start - 20 * DAY && !returned(all, one),
    );
    const share = (part: number) => (settled.length < FEW ? 0 : Math.max(1, Math.round(part * settled.length)));
    const within = () => Math.floor(chance.between(start + DAY, end - DAY));
    const movable = settled.filter((one) => lastTerms(one).interval === 'month');
    for (const one of chance.draw(movable, share(churn[at % churn.length] ?? 0))) one.endedAt = within();
    for (const one of chance.draw(
      movable.filter(({ endedAt }) => endedAt === undefined),
      share(EXPANSION),
    ))
      change(one, within(), 1, chance);
    const rest = movable.filter((one) => canShrink(one) && (one.terms.at(-1)?.time ?? 0) < start);
    for (const one of chance.draw(rest, share(CONTRACTION))) change(one, within(), -1, chance);
    for (const { user } of chance.draw(lost, Math.max(1, Math.round(lost.length * RETURN)))) {
      all.push(begin(chance, user, within(), all.length, false));
    }
    for (const user of starters) {
      const time = user.upgradedAt ?? 0;
      if (time >= start && time < end) all.push(begin(chance, user, time, all.length, chance.happens(0.35)));
    }
  }
  return all;
}

function lastTerms({ terms }: Subscription): Terms {
  const last = terms.at(-1);
  if (!last) throw new Error('A subscription has terms.');
  return last.terms;
}

function returned(all: readonly Subscription[], one: Subscription): boolean {
  return all.some((other) => other !== one && other.user === one.user && other.paidFrom > one.paidFrom);
}

function begin(chance: Chance, user: DemoUser, time: number, count: number, trial: boolean): Subscription {
  const { plan, amount } = chance.weighted([
    [STARTER, 48],
    [PRO, 40],
    [BUSINESS, 12],
  ]);
  const yearly = chance.happens(0.14);
  const terms = {
    plan,
    amount: yearly ? amount * 10 : amount,
    currency: user.country === 'US' ? 'USD' : 'EUR',
    interval: yearly ? ('year' as const) : ('month' as const),
    quantity: plan === BUSINESS.plan ? 1 + Math.floor(chance.next() * 4) : 1,
  };
  const paidFrom = trial ? time + 14 * DAY : time;
  return { id: `sub_${5000 + count}`, user, paidFrom, terms: [{ time, terms }] };
}

function rankOf(one: Subscription): number {
  return plans.findIndex(({ plan }) => plan === lastTerms(one).plan);
}

function canShrink(one: Subscription): boolean {
  return one.endedAt === undefined && (rankOf(one) > 0 || lastTerms(one).quantity > 1);
}

/** A step to the next plan, or in the number of seats if there is no next plan. */
function change(one: Subscription, time: number, by: 1 | -1, chance: Chance): void {
  const before = lastTerms(one);
  const bySeats = before.plan === BUSINESS.plan && (by > 0 || before.quantity > 1);
  const { plan, amount } = plans[rankOf(one) + by] ?? STARTER;
  const seats = { ...before, quantity: before.quantity + by * (by > 0 ? 1 + Math.floor(chance.next() * 3) : 1) };
  one.terms.push({ time, terms: bySeats ? seats : { ...before, plan, amount, quantity: 1 } });
}

export function subscriptionRows(subscriptions: readonly Subscription[]): Statement[] {
  const chance = new Chance(3);
  return subscriptions.flatMap((one) => {
    const [first] = one.terms;
    if (!first) return [];
    const { id, user, paidFrom, endedAt } = one;
    const trial = paidFrom > first.time && { trialStart: iso(first.time), trialEnd: iso(paidFrom) };
    const base = { id, uid: user.uid, intervalCount: 1, startedAt: iso(first.time), ...trial };
    const state = (time: number, more: object) => {
      const { terms } = one.terms.findLast((agreed) => agreed.time <= time) ?? first;
      const effective = time === first.time ? {} : { effectiveAt: iso(time) };
      return statement('subscriptions', time, { ...base, ...terms, status: 'active', ...more, ...effective });
    };
    const rows = one.terms.map(({ time }) => state(time, { status: trial && time < paidFrom ? 'trialing' : 'active' }));
    if (trial) rows.push(state(paidFrom, {}));
    const last = one.terms.at(-1)?.time ?? 0;
    const late = Math.max(last, paidFrom) + Math.floor(chance.between(20, 60)) * DAY;
    const end = endedAt ?? Number.POSITIVE_INFINITY;
    if (chance.happens(0.12) && late + 6 * DAY < end - 30 * DAY) {
      rows.push(state(late, { status: 'past_due' }), state(late + 6 * DAY, {}));
    }
    if (endedAt === undefined) return rows;
    // The terms agreed last still held when the end was announced.
    const announced = Math.max(last, paidFrom, endedAt - Math.floor(chance.between(2, 25)) * DAY) + 1;
    const ending = { canceledAt: iso(announced), endedAt: iso(endedAt) };
    return [...rows, state(announced, ending), state(endedAt, { status: 'canceled', ...ending })];
  });
}

const TAX = 0.19;

/** An invoice for every period that has begun. It is open until it is known whether it was paid. */
export function invoiceRows(subscriptions: readonly Subscription[], until: number): Statement[] {
  const chance = new Chance(4);
  return subscriptions.flatMap((one) => {
    const rows: Statement[] = [];
    const step = lastTerms(one).interval === 'year' ? 365 * DAY : (365 / 12) * DAY;
    for (let at = 1, time = one.paidFrom; time < Math.min(one.endedAt ?? until, until); at += 1) {
      const { terms } = one.terms.findLast((agreed) => agreed.time <= time) ?? { terms: lastTerms(one) };
      const { currency } = terms;
      const net = terms.amount * terms.quantity;
      const tax = currency === 'EUR' ? Math.round(net * TAX) : 0;
      const id = `in_${one.id.slice(4)}_${at}`;
      const ids = { id, uid: one.user.uid, subscriptionId: one.id };
      const open = { ...ids, total: net + tax, tax, currency, status: 'open' as const, issuedAt: iso(time) };
      const settledAt = time + Math.floor(chance.between(0, 2) * DAY);
      const status = chance.weighted(material.outcomes);
      const paid = status !== 'void' && { paidAt: iso(settledAt) };
      rows.push(statement('invoices', time, open), statement('invoices', settledAt, { ...open, status, ...paid }));
      time += Math.floor(step);
    }
    return rows;
  });
}

/** Accounts: free, paying while a subscription runs, and free again. */
export function userRows(users: readonly DemoUser[], subscriptions: readonly Subscription[]): Statement[] {
  const chance = new Chance(6);
  const rows = new Map(users.map((user) => [user.uid, [statement('users', user.createdAt, account(user, 'FREE'))]]));
  for (const { user, paidFrom, endedAt } of subscriptions) {
    const own = rows.get(user.uid);
    own?.push(statement('users', paidFrom, { ...account(user, 'PRO'), ...paymentOf(user) }));
    if (endedAt) own?.push(statement('users', endedAt, account(user, 'FREE')));
  }
  for (const user of users) {
    const isFree = rows.get(user.uid)?.length === 1;
    if (!isFree || !chance.happens(0.05)) continue;
    const deletedAt = user.createdAt + Math.floor(chance.between(20, 300) * DAY);
    const row = { ...account(user, 'FREE'), deletedAt: iso(deletedAt) };
    rows.get(user.uid)?.push(statement('users', deletedAt, row));
  }
  return [...rows.values()].flat();
}

function account({ uid, email, name, country, createdAt }: DemoUser, status: 'FREE' | 'PRO') {
  return { uid, email, status, name, country, createdAt: iso(createdAt) };
}

const BRANDS = ['Visa', 'Mastercard', 'American Express'];

function paymentOf({ uid }: DemoUser) {
  const number = Number(uid.slice(5));
  return {
    paymentBrand: BRANDS[number % BRANDS.length] ?? 'Visa',
    paymentLast4: String((number * 7919) % 10_000).padStart(4, '0'),
  };
}
