import type { Book } from './book.ts';
import type { CustomerChanges } from './customer-changes.ts';
import type { Money } from './money.ts';

/** The change of monthly recurring revenue between two times, in millionths of minor units, and the number of customers concerned. */
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
 * The movements between consecutive times, which must grow. A change exactly at a time belongs to the later movement: what ends with April
 * does not exist at the start of May.
 */
export function movements({ customers }: Book, times: readonly number[]): Movement[] {
  return times.slice(1).map((to, at) => keptMovement(customers, times[at] ?? to, to));
}

const MOST_KEPT = 2000;
const kept = new WeakMap<CustomerChanges, { readonly version: number; readonly movements: Map<string, Movement> }>();

/** Cached until a customer changes, because the same months are asked for again and again. */
function keptMovement(customers: CustomerChanges, from: number, to: number): Movement {
  const { version } = customers;
  let own = kept.get(customers);
  if (own?.version !== version || own.movements.size >= MOST_KEPT) {
    own = { version, movements: new Map() };
    kept.set(customers, own);
  }
  const key = `${from} ${to}`;
  const movement = own.movements.get(key) ?? movementIn(customers, from, to);
  own.movements.set(key, movement);
  return movement;
}

function movementIn(customers: CustomerChanges, from: number, to: number): Movement {
  const start = customers.standing(from);
  const sums = { ...NOTHING, start: start.mrr, customersAtStart: start.customers };
  customers.eachCustomer(from, to, (was, is, hasPaid) => classify(sums, { mrr: was, hasPaid }, is));
  return {
    ...sums,
    end: start.mrr + sums.new + sums.reactivation + sums.expansion - sums.contraction - sums.churn,
    customersAtEnd: start.customers + sums.newCustomers + sums.reactivatedCustomers - sums.churnedCustomers,
  };
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

/** MRR and paying customers after every change up to and including the time. */
export function standingAt(book: Book, time: number): { readonly mrr: number; readonly customers: number } {
  return book.customers.standing(time + 1);
}

const PARTS = ['new', 'reactivation', 'expansion', 'contraction', 'churn'] as const;

/**
 * The movement in major units, rounded so that start plus changes still equals the end. Start and end are rounded normally. Of the changes,
 * those that lose most by normal rounding are rounded the other way first.
 */
export function bridge(movement: Movement, money: Money) {
  const [start, end] = [cents(money, movement.start), cents(money, movement.end)];
  const parts = PARTS.map((name) => {
    const exact = money.exact(movement[name]) * 100;
    const sign = name === 'contraction' || name === 'churn' ? -1 : 1;
    return { name, sign, exact, rounded: cents(money, movement[name]) };
  });
  let open = end - start - parts.reduce((sum, { sign, rounded }) => sum + sign * rounded, 0);
  // Normal rounding leaves at most this difference. A larger one means that the amounts are too large for cents to count.
  while (open !== 0 && Math.abs(open) <= PARTS.length) {
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
