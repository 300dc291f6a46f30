import { DAY_MS } from '../../resources/durations.ts';
import { itemsOf } from '../../store/sql/lists.ts';

/**
 * The periods of a question as `periods (period, from_ms, to_ms)`, numbered from 1, and as `cells`, the days in UTC that each of them
 * touches: rows are joined with cells by their day, which engines do much faster than by comparing times, and then compared with the limits
 * of the period, which need not lie between two days of UTC.
 *
 * The parameter holds the limits between consecutive periods: the start of the first one, then the end of each.
 */
export function periodsFrom(parameter: string): string {
  const { first, last } = edgesOf(parameter);
  return `limits as (select item as from_ms from ${itemsOf(parameter, 'bigint')} as list),
  periods as (
    select period, from_ms, to_ms, second_ms, third_ms
    from (
      select
        row_number() over by_time as period, from_ms, lead(from_ms) over by_time as to_ms,
        lead(from_ms, 2) over by_time as second_ms, lead(from_ms, 3) over by_time as third_ms
      from limits
      window by_time as (order by from_ms)
    ) as numbered
    where to_ms is not null
  ),
  -- where periods begin, and where days begin: between limits that are written out, so that engines can tell how many
  marks as (
    select from_ms as mark_ms, period, from_ms, to_ms from periods
    union all
    select day * ${DAY_MS}, null, null, null
    from generate_series(${first} / ${DAY_MS} + 1, (${last} - 1) / ${DAY_MS}) as days (day)
  ),
  marked as (
    select
      mark_ms, mark_ms / ${DAY_MS} as cell,
      max(period) over so_far as period, max(from_ms) over so_far as from_ms, max(to_ms) over so_far as to_ms
    from marks
    window so_far as (order by mark_ms)
  ),
  cells as (
    select distinct period, from_ms, to_ms, cell from marked
  )`;
}

/**
 * The days in UTC of `periodsFrom` as `days`, one row for each day, which PostgreSQL joins with rows far faster than cells: with the period in
 * which the day begins, its start and end, and the ends of the next two periods. More cannot touch a day, as none is shorter than 23 hours.
 */
export const DAYS = `
  -- not kept, so that the engine knows that there is one row for each day
  days as not materialized (
    select distinct on (cell)
      cell, marked.period as first_period, marked.from_ms as first_ms, marked.to_ms as until_ms, second_ms, third_ms,
      coalesce(third_ms, second_ms, marked.to_ms) as last_ms
    from marked join periods on periods.period = marked.period
    order by cell, mark_ms
  )`;

export function inDay(time: string) {
  const choose = (values: readonly [string, string, string]) =>
    `case when ${time} < days.until_ms then ${values[0]} when ${time} < second_ms then ${values[1]} else ${values[2]} end`;
  return {
    isIn: `${time} / ${DAY_MS} = cell and ${time} >= days.first_ms and ${time} < last_ms`,
    period: choose(['first_period', 'first_period + 1', 'first_period + 2']),
    fromMs: choose(['days.first_ms', 'days.until_ms', 'second_ms']),
    toMs: choose(['days.until_ms', 'second_ms', 'third_ms']),
  };
}

/** The start of the first period and the end of the last one, written out, so that engines know them when they plan. */
export function edgesOf(parameter: string) {
  return {
    first: itemOf(parameter, `split_part(${parameter}, chr(31), 1)`),
    last: itemOf(parameter, `reverse(split_part(reverse(${parameter}), chr(31), 1))`),
  };
}

const itemOf = (parameter: string, text: string) => `cast(case when ${parameter} <> '' then ${text} end as bigint)`;

/** Whether the row lies in the period of the cell. */
export function isIn(time: string): string {
  return `${time} / ${DAY_MS} = cell and ${time} >= from_ms and ${time} < to_ms`;
}

export function isBefore(time: string): string {
  return `${time} < (select min(from_ms) from limits)`;
}
