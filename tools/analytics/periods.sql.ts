import { itemsOf } from '../../store/sql/lists.ts';

/**
 * The periods of a question as `periods (period, from_ms, to_ms)`, numbered from 1, and as `cells`, the days in UTC that each of them
 * touches: rows are joined with cells by their day, which engines do much faster than by comparing times, and then compared with the limits
 * of the period, which need not lie between two days of UTC.
 *
 * The parameter holds the limits between consecutive periods: the start of the first one, then the end of each.
 */
export function periodsFrom(parameter: string): string {
  return `limits as (select item as from_ms from ${itemsOf(parameter, 'bigint')} as list),
  periods as (
    select period, from_ms, to_ms
    from (
      select row_number() over by_time as period, from_ms, lead(from_ms) over by_time as to_ms
      from limits
      window by_time as (order by from_ms)
    ) as numbered
    where to_ms is not null
  ),
  cells as (
    select period, from_ms, to_ms, cell
    from periods cross join lateral generate_series(from_ms / ${DAY_MS}, (to_ms - 1) / ${DAY_MS}) as days (cell)
  )`;
}

const DAY_MS = 86_400_000;

/** Whether the row lies in the period of the cell. */
export function isIn(time: string): string {
  return `${time} / ${DAY_MS} = cell and ${time} >= from_ms and ${time} < to_ms`;
}

/** Whether the row lies before all periods. */
export function isBefore(time: string): string {
  return `${time} < (select min(from_ms) from limits)`;
}
