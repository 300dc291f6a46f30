import { readFileSync } from 'node:fs';
import type {
  EventRow,
  InvoiceRow,
  RowType,
  SubscriptionRow,
  UserRow,
  VisitRow,
  WebsiteRow,
} from '../../resources/imported-rows.ts';
import type { ImportedRow } from '../../store/rows/records.ts';
import { addDays, addIntervals, floorTo, type LocalDate } from '../../tools/analytics/calendar.ts';

type Weighted<Item> = readonly (readonly [Item, number])[];

/** What the story is made of. A number beside something says how often it comes; `churn` is the share that leaves in a month. */
type Material = Readonly<
  Record<'firstNames' | 'lastNames' | 'siteSubjects', readonly string[]> &
    Record<'countries' | 'uses' | 'pages' | 'referrers', Weighted<string>> & {
      churn: readonly number[];
      daysAWeek: Weighted<number>;
      outcomes: Weighted<'paid' | 'refunded' | 'void'>;
      /** From the smallest to the largest; customers move between neighbours. */
      plans: readonly [PlanPrice, PlanPrice, PlanPrice];
      analyticsSettings: object;
      machines: Weighted<Record<'device' | 'os' | 'browser', string>>;
      /** Brings so many more visitors on each of the last days. */
      article: { readonly referrer: string; readonly visitors: number; readonly days: number };
    }
>;
type PlanPrice = { readonly plan: string; readonly amount: number };

export const material: Material = JSON.parse(
  readFileSync(new URL('../../data/demo/story.json', import.meta.url), 'utf8'),
);

export const DAY = 86_400_000;
export const HOUR = 3_600_000;
export const MINUTE = 60_000;

/** The story covers 18 whole months. The product is half a year older, so that there are customers when it begins. */
const MONTHS = 24;

/** The time of the story, in UTC: whole days from the first of a month up to today. */
export interface Span {
  readonly days: readonly number[];
  /** Months with their first instant and that of the next; the last one is not over yet. */
  readonly months: readonly { readonly start: number; readonly end: number }[];
}

export function spanUntil(today: LocalDate): Span {
  const first = addIntervals(floorTo(today, 'month'), 'month', -MONTHS);
  const months = Array.from({ length: MONTHS + 1 }, (_, at) => ({
    start: Date.parse(addIntervals(first, 'month', at)),
    end: Date.parse(addIntervals(first, 'month', at + 1)),
  }));
  const days: number[] = [];
  for (let date = first; date <= today; date = addDays(date, 1)) days.push(Date.parse(date));
  return { days, months };
}

/** How busy a day is beside the average: quiet weekends and summers, busy winters, a pause at the end of the year. */
export function season(day: number): number {
  const date = new Date(day);
  const weekday = WEEK[date.getUTCDay()] ?? 1;
  const dayOfYear = (day - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY;
  const year = 1 + 0.18 * Math.cos((2 * Math.PI * (dayOfYear - 25)) / 365);
  return weekday * year * (dayOfYear > 356 ? 0.6 : 1);
}

/** One for each day of the week, Sunday first. */
export const WEEK = [0.66, 1.06, 1.12, 1.1, 1.06, 0.96, 0.64];

export function timeOfDay(day: number, chance: Chance): number {
  const hours = 6 + (chance.between(0, 9) + chance.between(0, 8));
  return Math.floor(day + hours * HOUR);
}

export function iso(time: number): string {
  return new Date(time).toISOString();
}

/** Numbers that look random and are the same in every run (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number that is the value on average. */
  round(value: number): number {
    return Math.floor(value) + (this.happens(value - Math.floor(value)) ? 1 : 0);
  }

  pick<Item>(items: readonly Item[]): Item {
    return itemAt(items, Math.floor(this.next() * items.length));
  }

  /** One of the items, each as often as its weight says. */
  weighted<Item>(items: readonly (readonly [Item, number])[]): Item {
    let rest = this.next() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      rest -= weight;
      if (rest < 0) return item;
    }
    return itemAt(items, items.length - 1)[0];
  }

  /** Removes this many items from the list, or all if there are fewer, and returns them. */
  draw<Item>(items: Item[], count: number): Item[] {
    return Array.from({ length: Math.min(count, items.length) }, () =>
      itemAt(items.splice(Math.floor(this.next() * items.length), 1), 0),
    );
  }
}

function itemAt<Item>(items: readonly Item[], at: number): Item {
  if (at >= items.length) throw new Error('There is nothing to choose from.');
  // The index is within the list.
  return items[at] as Item;
}

/** A row, with the time when the source system learned of it. */
export interface Statement {
  readonly type: RowType;
  readonly time: number;
  readonly row: ImportedRow;
}

export interface LoggedStatement extends Omit<Statement, 'time'> {
  readonly at: string;
}

interface RowOf {
  users: UserRow;
  subscriptions: SubscriptionRow;
  invoices: InvoiceRow;
  events: EventRow;
  visits: VisitRow;
  websites: WebsiteRow;
}

/** The row must be as an import would keep it: complete, times in UTC with milliseconds. */
export function statement<Type extends RowType>(type: Type, time: number, row: RowOf[Type]): Statement {
  return { type, time, row: { ...row } };
}

/** What was known at the time, in the order in which it became known. */
export function loggedBy(now: number, statements: readonly Statement[]): LoggedStatement[] {
  return statements
    .filter(({ time }) => time <= now)
    .sort((a, b) => a.time - b.time)
    .map(({ type, time, row }) => ({ type, at: iso(time), row }));
}
