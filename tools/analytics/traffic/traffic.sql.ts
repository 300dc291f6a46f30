import type { NamedQuery } from '../../../store/rows-port.ts';
import { itemsOf } from '../../../store/sql/lists.ts';
import { isIn, periodsFrom } from '../periods.sql.ts';

export type VisitDimension = 'channel' | 'country' | 'device' | 'browser' | 'os';

/**
 * What there is to count. Each session counts in the period in which it begins, with its page views. Of a session that goes on in a later
 * period, or began before the first one, the visits count in their own periods, without a duration. With a dimension, all have the label
 * that their session has in it.
 *
 * Visitors are counted without comparing them: `is_first` says that the visitor was not there earlier in the period (with a dimension, not
 * under this label), as the session before ended before the period; `is_first_of_all`, not earlier in any of the periods.
 */
function countedFrom(limits: string, dimension?: VisitDimension): string {
  const before = dimension ? `${dimension}_before_ms` : 'before_ms';
  const asLabel = dimension ? `, ${dimension} as label` : '';
  const label = dimension ? ', label' : '';
  return `${periodsFrom(limits)},
  range as (select min(from_ms) as first_ms from limits),
  -- read twice rather than kept, as it can be larger than the memory
  begun as not materialized (
    select period, from_ms, to_ms, visitor, start_ms, end_ms, pages, bounced, ${before} as visitor_before_ms${asLabel}
    from sessions join cells on ${isIn('start_ms')}
  ),
  crossing as (
    select visitor, start_ms, end_ms${label} from begun where end_ms >= to_ms
    union all
    select visitor, start_ms, end_ms${asLabel}
    from sessions join periods on period = 1 and start_ms < from_ms and end_ms >= from_ms
  ),
  -- worked out by itself, as otherwise all visits would first be joined with the cells
  seen as materialized (
    select crossing.visitor, start_ms, at_ms${label}
    from crossing join visits on visits.visitor = crossing.visitor and at_ms >= start_ms and at_ms <= end_ms
  ),
  parts as (
    select
      period, from_ms, start_ms, count(*) as views,
      period = min(period) over (partition by visitor, start_ms) as is_first_part${label}
    from seen join cells on ${isIn('at_ms')}
    group by visitor, start_ms, period, from_ms${label}
  ),
  counted as (
    select
      period, case when end_ms < to_ms then pages else 0 end as views, end_ms - start_ms as duration_ms, bounced,
      visitor_before_ms is null or visitor_before_ms < from_ms as is_first,
      visitor_before_ms is null or visitor_before_ms < first_ms as is_first_of_all${label}
    from begun cross join range
    union all
    select period, views, null, false, start_ms < from_ms, start_ms < first_ms and is_first_part${label}
    from parts cross join range
  )`;
}

/**
 * - Visitors: distinct visitors of the visits in the period. Page views: visits in the period.
 * - Sessions: those that begin in the period. Duration: from the first visit of a session to its last; the median of the sessions.
 * - Bounces: sessions of one page view without an event of that user in the 30 minutes after (see store/sql/derived/sessions.ts).
 */
const MEASURES = `
    count(duration_ms) as sessions,
    cast(coalesce(sum(views), 0) as bigint) as page_views,
    count(*) filter (where bounced) as bounces,
    percentile_cont(0.5) within group (order by duration_ms) as median_ms`;
const VISITORS = 'count(*) filter (where is_first)';
const VISITORS_OF_ALL = 'count(*) filter (where is_first_of_all)';

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
    case when grouping(period) = 1 then ${VISITORS_OF_ALL} else ${VISITORS} end as visitors,${MEASURES}
  from counted
  group by grouping sets ((period), ())`,
};

/** The traffic of a range by label of the dimension. $1: limits of the range. */
function byLabel(dimension: VisitDimension): NamedQuery {
  return {
    name: `traffic by ${dimension}`,
    sql: `
  with ${countedFrom('$1', dimension)}
  select
    label, ${VISITORS} as visitors,${MEASURES}
  from counted
  group by label`,
  };
}

/** The traffic by period and label of the dimension. $1: limits of the periods. $2: the labels. */
function byPeriodAndLabel(dimension: VisitDimension): NamedQuery {
  return {
    name: `traffic by period and ${dimension}`,
    sql: `
  with ${countedFrom('$1', dimension)}
  select
    period, label, ${VISITORS} as visitors,${MEASURES}
  from counted
  where label in ${itemsOf('$2')}
  group by period, label`,
  };
}

function forEach(query: (dimension: VisitDimension) => NamedQuery): Readonly<Record<VisitDimension, NamedQuery>> {
  return {
    channel: query('channel'),
    country: query('country'),
    device: query('device'),
    browser: query('browser'),
    os: query('os'),
  };
}

export const trafficByLabel = forEach(byLabel);
export const trafficByPeriodAndLabel = forEach(byPeriodAndLabel);
