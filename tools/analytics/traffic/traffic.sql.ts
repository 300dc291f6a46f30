import type { NamedQuery } from '../../../store/rows-port.ts';
import { itemsOf } from '../../../store/sql/lists.ts';
import { DAYS, edgesOf, inDay, isBefore, isIn, periodsFrom } from '../periods.sql.ts';

export type VisitDimension = 'channel' | 'country' | 'device' | 'browser' | 'os';
type Dimensions = readonly VisitDimension[];

const { isIn: isInDay, period, fromMs, toMs } = inDay('start_ms');
const IN_DAYS = {
  columns: `${period} as period, ${fromMs} as from_ms, ${toMs} as to_ms`,
  from: `from sessions join days on ${isInDay}`,
};
/** Where there is one period, it need not be looked for. */
function inAll(limits: string) {
  const { first, last } = edgesOf(limits);
  return {
    columns: `1 as period, ${first} as from_ms, ${last} as to_ms`,
    from: `from sessions where start_ms >= ${first} and start_ms < ${last}`,
  };
}

/**
 * What there is to count. Each session counts in the period in which it begins, with its page views. Of a session that goes on in a later
 * period, or began before the first one, the visits count in their own periods, without a duration. All have the labels of their session.
 *
 * Visitors are counted without comparing them: `is_first` says that the visitor was not there earlier in the period, as the session before
 * ended before the period; `is_first_of_all`, not earlier in any of the periods; `device_is_first`, not earlier in the period with the
 * same device.
 */
function countedFrom(limits: string, dimensions: Dimensions = [], isWhole = false): string {
  const each = (write: (dimension: VisitDimension) => string) => dimensions.map((one) => `, ${write(one)}`).join('');
  const labels = each((dimension) => dimension);
  const { columns, from } = isWhole ? inAll(limits) : IN_DAYS;
  return `${periodsFrom(limits)},
  ${isWhole ? '' : `${DAYS},`}
  range as (select min(from_ms) as first_ms from limits),
  -- read again rather than kept, as it can be larger than the memory; so is what is counted
  begun as not materialized (
    select
      ${columns},
      visitor, start_ms, end_ms, pages, bounced, before_ms${labels}${each((dimension) => `${dimension}_before_ms`)}
    ${from}
  ),
  crossing as (
    select visitor, start_ms, end_ms${labels} from begun where end_ms > start_ms and end_ms >= to_ms
    union all
    select visitor, start_ms, end_ms${labels}
    from sessions where ${isBefore('start_ms')} and end_ms >= (select first_ms from range)
  ),
  -- worked out by itself, as otherwise all visits would first be joined with the cells; few sessions cross, so their visits are looked up
  seen as materialized (
    select crossing.visitor, start_ms, at_ms${each((dimension) => `crossing.${dimension}`)}
    from crossing cross join lateral (
      select at_ms from visits where visits.visitor = crossing.visitor and at_ms >= start_ms and at_ms <= end_ms offset 0
    ) as visited
  ),
  parts as materialized (
    select
      period, from_ms, start_ms, count(*) as views,
      period = min(period) over (partition by visitor, start_ms) as is_first_part${labels}
    from seen join cells on ${isIn('at_ms')}
    group by visitor, start_ms, period, from_ms${labels}
  ),
  counted as not materialized (
    select
      period, case when end_ms < to_ms then pages else 0 end as views, end_ms - start_ms as duration_ms, bounced,
      before_ms < from_ms as is_first,
      before_ms < first_ms as is_first_of_all${labels}${each(
        (dimension) => `
      ${dimension}_before_ms < from_ms as ${dimension}_is_first`,
      )}
    from begun cross join range
    union all
    select
      period, views, null, false, start_ms < from_ms, start_ms < first_ms and is_first_part${labels}${each(() => 'start_ms < from_ms')}
    from parts cross join range
  )`;
}

/** How many rows have it. Cheaper than a filter of the aggregate. */
const countOf = (has: string) => `count(case when ${has} then 1 end)`;

/**
 * - Visitors: distinct visitors of the visits in the period. Page views: visits in the period.
 * - Sessions: those that begin in the period. Duration: from the first visit of a session to its last; the median of the sessions.
 * - Bounces: sessions of one page view without an event of that user in the 30 minutes after (see store/sql/derived/sessions.ts).
 */
const MEASURES = `
    count(duration_ms) as sessions,
    cast(coalesce(sum(views), 0) as bigint) as page_views,
    ${countOf('bounced')} as bounces,
    percentile_cont(0.5) within group (order by duration_ms) as median_ms`;

export interface MeasuresRow {
  readonly visitors: number;
  readonly sessions: number;
  readonly page_views: number;
  readonly bounces: number;
  readonly median_ms: number | null;
}

/** The traffic of each period, and with the period null that of all of them together. $1: limits of the periods. */
export const trafficByPeriod: NamedQuery = {
  name: 'traffic by period',
  sql: `
  with ${countedFrom('$1')}
  select
    period,
    case when grouping(period) = 1 then ${countOf('is_first_of_all')} else ${countOf('is_first')} end as visitors,${MEASURES}
  from counted
  group by grouping sets ((period), ())`,
};

/**
 * The traffic of a range: of each label of each dimension, and with the dimension null all of it, so that the sessions are read once. $1:
 * limits of the range.
 */
export function trafficByLabel(dimensions: Dimensions): NamedQuery {
  const when = (write: (dimension: VisitDimension) => string) =>
    dimensions.map((dimension) => `when grouping(${dimension}) = 0 then ${write(dimension)}`).join(' ');
  return {
    name: `traffic by ${dimensions.join(', ')}`,
    sql: `
  with ${countedFrom('$1', dimensions, true)}
  select
    case ${when((dimension) => `'${dimension}'`)} end as dimension,
    case ${when((dimension) => dimension)} end as label,
    case ${when((dimension) => countOf(`${dimension}_is_first`))} else ${countOf('is_first')} end as visitors,${MEASURES}
  from counted
  group by grouping sets (${dimensions.map((dimension) => `(${dimension})`).join(', ')}, ())`,
  };
}

/** The traffic by period and label of each dimension. $1: limits of the periods. $2 and so on: the labels of each dimension. */
export function trafficByPeriodAndLabel(dimensions: Dimensions): NamedQuery {
  // Each by itself, and by period first: numbers are sorted faster than labels.
  const each = dimensions.map(
    (dimension, at) => `
  select '${dimension}' as dimension, ${dimension} as label, period, ${countOf(`${dimension}_is_first`)} as visitors,${MEASURES}
  from counted
  where ${dimension} in ${itemsOf(`$${at + 2}`)}
  group by period, ${dimension}`,
  );
  return {
    name: `traffic by period and ${dimensions.join(', ')}`,
    sql: `
  with ${countedFrom('$1', dimensions)}${each.join('\n  union all')}`,
  };
}
