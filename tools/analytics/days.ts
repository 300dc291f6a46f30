const DAY_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60 * 1000;
/** Local midnight is less than this away from midnight in UTC. */
const FARTHEST_MINUTES = 16 * 60;

/** A calendar day of a time zone: `createdAt` in [from, to), ISO 8601. */
export interface Day {
  readonly date: string;
  readonly from: string;
  readonly to: string;
}

/** The days up to the one that contains `now`, oldest first. A day has 23 or 25 hours where the clocks change. */
export function lastDays(now: Date, timezone: string, count: number): Day[] {
  const dateAt = dateReader(timezone);
  const today = Date.parse(dateAt(now.getTime()));
  const dates = Array.from({ length: count + 1 }, (_, index) =>
    new Date(today + (index - count + 1) * DAY_MS).toISOString().slice(0, 10),
  );
  const starts = dates.map((date) => new Date(startOf(date, dateAt)).toISOString());
  return dates.slice(0, count).map((date, index) => ({ date, from: starts[index] ?? '', to: starts[index + 1] ?? '' }));
}

/** The first minute at which the zone's calendar shows this date or a later one. */
function startOf(date: string, dateAt: (time: number) => string): number {
  const middle = Date.parse(date);
  let low = -FARTHEST_MINUTES;
  let high = FARTHEST_MINUTES;
  while (high - low > 1) {
    const minute = Math.floor((low + high) / 2);
    if (dateAt(middle + minute * MINUTE_MS) >= date) high = minute;
    else low = minute;
  }
  return middle + high * MINUTE_MS;
}

/** Returns a function that gives the date in the zone at a time, such as 2026-03-29. */
function dateReader(timeZone: string): (time: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  return (time) => format.format(time);
}
