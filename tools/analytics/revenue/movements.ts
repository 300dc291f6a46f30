import type { RowSnapshot } from '../../../store/rows-port.ts';
import { addIntervals, dateIn, floorTo, type Period, periodsOf } from '../calendar.ts';
import { limitsOf, ratio } from '../request.ts';
import type { Money } from './money.ts';
import { movementsByPeriod, standingAt } from './movements.sql.ts';

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

/** The movement of each period. */
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

/** The first date of the calendar month that contains the time. */
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

/**
 * The movement in major units, rounded so that start plus changes still equals the end. Start and end are rounded normally. Of the changes,
 * those that lose most by normal rounding are rounded the other way first.
 */
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
