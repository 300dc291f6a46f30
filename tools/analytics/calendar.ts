import { DAY_MS } from '../../resources/durations.ts';
export type Interval = 'day' | 'week' | 'month';

/** A calendar date without a zone, `2026-03-01`. */
export type LocalDate = string;

/** No time zone is further from UTC than this. */
const FURTHEST_MS = 15 * 3_600_000;
const formats = new Map<string, Intl.DateTimeFormat>();

export function dateIn(zone: string, instant: number): LocalDate {
  return clockIn(zone, instant).date;
}

function clockIn(zone: string, instant: number): { readonly date: LocalDate; readonly time: string } {
  let format = formats.get(zone);
  if (!format) {
    // Sweden writes 2026-03-01 09:30:00.
    format = new Intl.DateTimeFormat('sv-SE-u-ca-gregory-nu-latn', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formats.set(zone, format);
  }
  // Taking the text apart is ten times faster than asking for its parts.
  const [date = '', time = ''] = format.format(instant).split(' ');
  return { date: date.padStart(10, '0'), time };
}

/** How far the zone's clocks are ahead of UTC at a moment, which must be a whole second. */
function offsetIn(zone: string, instant: number): number {
  const { date, time } = clockIn(zone, instant);
  return Date.parse(`${date}T${time}Z`) - instant;
}

const starts = new Map<string, number>();
const MOST_STARTS = 20_000;

/** The first moment of the date in the zone: midnight, or the first moment after it where clocks skip midnight. */
export function startOf(date: LocalDate, zone: string): number {
  const key = `${date} ${zone}`;
  let start = starts.get(key);
  if (start === undefined) {
    start = findStart(date, zone);
    if (starts.size >= MOST_STARTS) starts.clear();
    starts.set(key, start);
  }
  return start;
}

function findStart(date: LocalDate, zone: string): number {
  const middle = Date.parse(date);
  if (zone === 'UTC') return middle;
  let [low, high] = [middle - FURTHEST_MS, middle + FURTHEST_MS];
  const offset = offsetIn(zone, low);
  if (offset === offsetIn(zone, high)) return middle - offset;
  while (low < high) {
    const guess = Math.floor((low + high) / 2);
    if (dateIn(zone, guess) < date) low = guess + 1;
    else high = guess;
  }
  return low;
}

export function addDays(date: LocalDate, days: number): LocalDate {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The first date of the interval that contains the date. Weeks begin on Monday. */
export function floorTo(date: LocalDate, interval: Interval): LocalDate {
  if (interval === 'month') return `${date.slice(0, 7)}-01`;
  if (interval === 'day') return date;
  return addDays(date, -((new Date(date).getUTCDay() + 6) % 7));
}

/** The first date of the interval that is `count` intervals later. `date` must be the first date of an interval. */
export function addIntervals(date: LocalDate, interval: Interval, count: number): LocalDate {
  if (interval === 'day') return addDays(date, count);
  if (interval === 'week') return addDays(date, 7 * count);
  const [year = 0, month = 1] = date.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1 + count, 1)).toISOString().slice(0, 10);
}

/** The same day of the month so many months later, or the last one of a shorter month. */
function addMonths(date: LocalDate, count: number): LocalDate {
  const first = addIntervals(floorTo(date, 'month'), 'month', count);
  const last = addDays(addIntervals(first, 'month', 1), -1);
  const same = `${first.slice(0, 8)}${date.slice(8)}`;
  return same < last ? same : last;
}

interface Dates {
  readonly from: LocalDate;
  readonly to: LocalDate;
}

/**
 * The range before this one, as people compare them: as many months before where it begins with a month and shows or covers whole months,
 * as many weeks before where it shows weeks from a Monday on, otherwise as many days. What is left of an interval that is not over is
 * compared with the same part of the earlier one.
 */
export function rangeBefore({ from, to }: Dates, interval: Interval | undefined): Dates {
  const startsMonth = from.endsWith('-01');
  if (startsMonth && (interval === 'month' || to.endsWith('-01'))) {
    const months = (date: LocalDate) => 12 * Number(date.slice(0, 4)) + Number(date.slice(5, 7));
    const back = months(from) - months(addDays(to, -1)) - 1;
    const last = addMonths(addDays(to, -1), back);
    return { from: addMonths(from, back), to: to.endsWith('-01') ? from : addDays(last, 1) };
  }
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  const back = interval === 'week' && floorTo(from, 'week') === from ? 7 * Math.ceil(days / 7) : days;
  return { from: addDays(from, -back), to: addDays(to, -back) };
}

/** A period of time: from the first moment of `from` until just before the first moment of `to`. */
export interface Period {
  readonly from: LocalDate;
  readonly to: LocalDate;
  readonly start: number;
  readonly end: number;
}

/** The range, cut where calendar intervals begin. The first and the last period may be shorter than an interval. */
export function periodsOf(from: LocalDate, to: LocalDate, interval: Interval, zone: string): Period[] {
  const periods: Period[] = [];
  for (let date = from; date < to; ) {
    const limit = addIntervals(floorTo(date, interval), interval, 1);
    const next = limit < to ? limit : to;
    periods.push({ from: date, to: next, start: startOf(date, zone), end: startOf(next, zone) });
    date = next;
  }
  return periods;
}

/** The days up to the one that contains `now`, oldest first. A day has 23 or 25 hours where the clocks change. */
export function lastDays(now: Date, zone: string, count: number): Period[] {
  const tomorrow = addDays(dateIn(zone, now.getTime()), 1);
  return periodsOf(addDays(tomorrow, -count), tomorrow, 'day', zone);
}
