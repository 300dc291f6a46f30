import { addDays, addIntervals, floorTo, type LocalDate } from '../../tools/analytics/calendar.ts';

export const DAY = 86_400_000;
export const HOUR = 3_600_000;
export const MINUTE = 60_000;

/** The story is told of 18 whole months; the product is half a year older, so that they begin with customers. */
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

/** From Sunday on. */
export const WEEK = [0.66, 1.06, 1.12, 1.1, 1.06, 0.96, 0.64];

/** A time on the day when people are awake. */
export function timeOfDay(day: number, chance: { between(low: number, high: number): number }): number {
  const hours = 6 + (chance.between(0, 9) + chance.between(0, 8));
  return Math.floor(day + hours * HOUR);
}

export function iso(time: number): string {
  return new Date(time).toISOString();
}
