import { type Book, changesBefore } from './book.ts';
import type { Money } from './money.ts';

/** What happened to monthly recurring revenue between two times, in millionths of minor units, and to how many customers. */
export interface Movement {
  readonly start: number;
  readonly new: number;
  readonly reactivation: number;
  readonly expansion: number;
  readonly contraction: number;
  readonly churn: number;
  readonly end: number;
  readonly customersAtStart: number;
  readonly newCustomers: number;
  readonly reactivatedCustomers: number;
  readonly churnedCustomers: number;
  readonly customersAtEnd: number;
}

type Sums = { -readonly [Member in keyof Movement]: Movement[Member] };

/**
 * The movements in the stretches between the times, which grow. A change at the limit of two stretches belongs to the later one:
 * what ends with April is not there at the start of May.
 */
export function movements({ customers }: Book, times: readonly number[]): Movement[] {
  const current = new Float64Array(customers.count);
  const hasPaid = new Uint8Array(customers.count);
  const limits = times.map((time) => changesBefore(customers, time));
  let [mrr, paying] = [0, 0];
  let at = 0;
  const found: Movement[] = [];
  for (const [index, limit] of limits.entries()) {
    const sums = { ...NOTHING, start: mrr, customersAtStart: paying };
    const before = new Map<number, { readonly mrr: number; readonly hasPaid: boolean }>();
    for (; at < limit; at += 1) {
      const who = customers.who[at] ?? 0;
      if (!before.has(who)) before.set(who, { mrr: current[who] ?? 0, hasPaid: hasPaid[who] === 1 });
      current[who] = customers.mrr[at] ?? 0;
      if (current[who]) hasPaid[who] = 1;
    }
    for (const [who, was] of before) classify(sums, was, current[who] ?? 0);
    mrr += sums.new + sums.reactivation + sums.expansion - sums.contraction - sums.churn;
    paying += sums.newCustomers + sums.reactivatedCustomers - sums.churnedCustomers;
    // What came before the first time is where it starts from.
    if (index > 0) found.push({ ...sums, end: mrr, customersAtEnd: paying });
  }
  return found;
}

const NOTHING: Sums = {
  start: 0,
  new: 0,
  reactivation: 0,
  expansion: 0,
  contraction: 0,
  churn: 0,
  end: 0,
  customersAtStart: 0,
  newCustomers: 0,
  reactivatedCustomers: 0,
  churnedCustomers: 0,
  customersAtEnd: 0,
};

function classify(sums: Sums, was: { readonly mrr: number; readonly hasPaid: boolean }, is: number): void {
  if (was.mrr === 0 && is > 0) {
    sums[was.hasPaid ? 'reactivation' : 'new'] += is;
    sums[was.hasPaid ? 'reactivatedCustomers' : 'newCustomers'] += 1;
  } else if (was.mrr > 0 && is === 0) {
    sums.churn += was.mrr;
    sums.churnedCustomers += 1;
  } else if (is > was.mrr) sums.expansion += is - was.mrr;
  else sums.contraction += was.mrr - is;
}

/** MRR and paying customers with every change up to and at the time. */
export function standingAt(book: Book, time: number): { readonly mrr: number; readonly customers: number } {
  const [until] = movements(book, [Number.NEGATIVE_INFINITY, time + 1]);
  return { mrr: until?.end ?? 0, customers: until?.customersAtEnd ?? 0 };
}

const PARTS = ['new', 'reactivation', 'expansion', 'contraction', 'churn'] as const;

/**
 * The bridge in major units, rounded so that it still closes: start and end are rounded as they are, the movements up or down, those first
 * that are furthest from what they would be rounded to.
 */
export function bridge(movement: Movement, money: Money) {
  const [start, end] = [cents(money, movement.start), cents(money, movement.end)];
  const parts = PARTS.map((name) => {
    const exact = money.exact(movement[name]) * 100;
    const sign = name === 'contraction' || name === 'churn' ? -1 : 1;
    return { name, sign, exact, rounded: cents(money, movement[name]) };
  });
  let open = end - start - parts.reduce((sum, { sign, rounded }) => sum + sign * rounded, 0);
  while (open !== 0) {
    const step = Math.sign(open);
    const gains = parts.map((part) => step * part.sign * (part.exact - part.rounded));
    const movable = gains.map((gain, at) => ((parts[at]?.exact ?? 0) > 0 ? gain : Number.NEGATIVE_INFINITY));
    const best = parts[movable.indexOf(Math.max(...movable))];
    if (!best) break;
    best.rounded += step * best.sign;
    open -= step;
  }
  const [fresh, reactivation, expansion, contraction, churn] = parts.map(({ rounded }) => rounded / 100);
  return {
    start: start / 100,
    new: fresh ?? 0,
    reactivation: reactivation ?? 0,
    expansion: expansion ?? 0,
    contraction: contraction ?? 0,
    churn: churn ?? 0,
    end: end / 100,
  };
}

function cents(money: Money, micros: number): number {
  return Math.round(money.major(micros) * 100);
}
