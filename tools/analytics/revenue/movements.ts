import type { NamedQuery, RowSnapshot } from '../../../store/rows-port.ts';
import { addIntervals, dateIn, floorTo, type Period, periodsOf } from '../calendar.ts';
import { isBefore, isIn, periodsFrom } from '../periods.sql.ts';
import { limitsOf, ratio } from '../request.ts';
import type { Money } from './money.ts';

/** What moved monthly recurring revenue in a period: start + new + reactivation + expansion - contraction - churn = end. */
export interface Bridge {
  readonly start: number;
  readonly new: number;
  readonly reactivation: number;
  readonly expansion: number;
  readonly contraction: number;
  readonly churn: number;
  readonly end: number;
}

/** In millionths of minor units, with the customers concerned. */
export interface Movement extends Bridge {
  readonly customersAtStart: number;
  readonly churnedCustomers: number;
  readonly customersAtEnd: number;
}

/** What all customers pay a month, and how many of them pay. */
export interface RevenueStanding {
  readonly mrr: number;
  readonly customers: number;
}

export function movementsOf(
  rows: RowSnapshot,
  periods: readonly Pick<Period, 'start' | 'end'>[],
): Promise<readonly Movement[]> {
  return rows.query<Movement>(movementsByPeriod, [limitsOf(periods)]);
}

export async function movementOf(rows: RowSnapshot, period: Pick<Period, 'start' | 'end'>): Promise<Movement> {
  const [movement] = await movementsOf(rows, [period]);
  if (!movement) throw new Error('A period has a movement.');
  return movement;
}

/** After every change up to and including the time. */
export async function standingOf(rows: RowSnapshot, time: number): Promise<RevenueStanding> {
  const [standing] = await rows.query<RevenueStanding>(standingAt, [time]);
  if (!standing) throw new Error('A sum has a row.');
  return standing;
}

/** At the end of a range, or at asOf where that is earlier. A change exactly at the end belongs to what follows. */
export function standingAtEnd(
  rows: RowSnapshot,
  { end, now }: { readonly end: number; readonly now: number },
): Promise<RevenueStanding> {
  return standingOf(rows, end <= now ? end - 1 : now);
}

export function customerChurn({ churnedCustomers, customersAtStart }: Movement): number | null {
  return ratio(churnedCustomers, customersAtStart);
}

export function monthOf(zone: string, time: number): string {
  return floorTo(dateIn(zone, time), 'month');
}

/** Customer churn of each calendar month from one date to another, by the first date of the month. */
export async function monthlyChurn(
  rows: RowSnapshot,
  { from, to, zone }: { readonly from: string; readonly to: string; readonly zone: string },
): Promise<Map<string, number | null>> {
  const months = periodsOf(from, to, 'month', zone);
  const movements = await movementsOf(rows, months);
  return new Map(movements.map((movement, at) => [months[at]?.from ?? '', customerChurn(movement)]));
}

/** Of the complete calendar months before the month, without those that had no customers at their start. */
export function meanChurn(churns: ReadonlyMap<string, number | null>, month: string, months: number): number | null {
  const back = Array.from({ length: months }, (_, at) => churns.get(addIntervals(month, 'month', at - months)) ?? null);
  const known = back.filter((churn) => churn !== null);
  return known.length === 0 ? null : known.reduce((sum, churn) => sum + churn, 0) / known.length;
}

const PARTS = ['new', 'reactivation', 'expansion', 'contraction', 'churn'] as const;

/** The movement in major units. Changes that lose most by rounding are rounded the other way, so that start plus changes equals the end. */
export function bridge(movement: Movement, money: Money): Bridge {
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

/** The bridge over consecutive periods, with the sums of what moved in each. */
export function totalOf(bridges: readonly Bridge[], round = (amount: number) => amount): Bridge {
  const sum = (part: (typeof PARTS)[number]) => round(bridges.reduce((total, one) => total + one[part], 0));
  return {
    start: bridges[0]?.start ?? 0,
    new: sum('new'),
    reactivation: sum('reactivation'),
    expansion: sum('expansion'),
    contraction: sum('contraction'),
    churn: sum('churn'),
    end: bridges.at(-1)?.end ?? 0,
  };
}

function cents(money: Money, micros: number): number {
  return Math.round(money.major(micros) * 100);
}

/**
 * What moved monthly recurring revenue in each period, from customer_changes. A change exactly at a limit belongs to the later period: what
 * ends with April does not exist at the start of May.
 *
 * - Per customer, `was` is what the customer paid at the start of the period, `pays` at its end.
 * - new: from 0, never paid before. reactivation: from 0, had paid before. expansion: from something to more. contraction: to less, but not
 *   to 0. churn: to 0.
 * - start = what all customers paid at the start; end = start + new + reactivation + expansion - contraction - churn.
 * - Customers are those who pay more than 0.
 *
 * $1: limits of the periods. Amounts are millionths of a minor unit.
 */
const movementsByPeriod: NamedQuery = {
  name: 'movements of MRR by period',
  sql: `
    with ${periodsFrom('$1')},
    customers as (
      select period, uid,
        coalesce(sum(case when previous_ms is null or previous_ms < from_ms then before end), 0) as was,
        coalesce(sum(case when next_ms is null or next_ms >= to_ms then after end), 0) as pays,
        count(case when previous_ms < from_ms then 1 end) > 0 as had_paid
      from customer_changes join cells on ${isIn('time_ms')}
      group by period, uid
    ),
    moves as (
      select period, was, pays,
        case
          when was = 0 and pays > 0 then case when had_paid then 'reactivation' else 'new' end
          when was > 0 and pays = 0 then 'churn'
          when pays > was then 'expansion'
          else 'contraction'
        end as move
      from customers
    ),
    moved as (
      select period,
        sum(case when move = 'new' then pays else 0 end) as new,
        sum(case when move = 'reactivation' then pays else 0 end) as reactivation,
        sum(case when move = 'expansion' then pays - was else 0 end) as expansion,
        sum(case when move = 'contraction' then was - pays else 0 end) as contraction,
        sum(case when move = 'churn' then was else 0 end) as churn,
        sum(pays - was) as more,
        count(case when move = 'new' then 1 end) as new_customers,
        count(case when move = 'reactivation' then 1 end) as reactivated_customers,
        count(case when move = 'churn' then 1 end) as churned_customers
      from moves
      group by period
    ),
    at_first as (
      select coalesce(sum(after - before), 0) as mrr, ${payingCustomers()} as customers
      from customer_changes
      where ${isBefore('time_ms')}
    ),
    summed as (
      select period, at_first.mrr as mrr, at_first.customers as customers,
        coalesce(new, 0) as new, coalesce(reactivation, 0) as reactivation, coalesce(expansion, 0) as expansion,
        coalesce(contraction, 0) as contraction, coalesce(churn, 0) as churn, coalesce(more, 0) as more,
        coalesce(churned_customers, 0) as churned_customers,
        coalesce(new_customers + reactivated_customers - churned_customers, 0) as more_customers
      from periods left join moved using (period) cross join at_first
    )
    select
      mrr + sum(more) over so_far - more as start,
      new, reactivation, expansion, contraction, churn,
      mrr + sum(more) over so_far as "end",
      cast(customers + sum(more_customers) over so_far - more_customers as bigint) as "customersAtStart",
      churned_customers as "churnedCustomers",
      cast(customers + sum(more_customers) over so_far as bigint) as "customersAtEnd"
    from summed
    window so_far as (order by period)
    order by period`,
};

/** What all customers pay a month at a moment, after every change up to and including it, and how many customers pay. $1: the moment. */
const standingAt: NamedQuery = {
  name: 'MRR and paying customers',
  sql: `
    select coalesce(sum(after - before), 0) as mrr, ${payingCustomers()} as customers
    from customer_changes
    where time_ms <= $1`,
};

function payingCustomers(): string {
  return 'count(case when after > 0 and before = 0 then 1 end) - count(case when after = 0 and before > 0 then 1 end)';
}
