import type { NamedQuery } from '../../../store/rows-port.ts';
import { itemsOf } from '../../../store/sql/lists.ts';
import { isIn, periodsFrom } from '../periods.sql.ts';

export type VisitDimension = 'channel' | 'country' | 'device' | 'browser' | 'os';

/**
 * What there is to count. Each session counts in the period in which it begins, with its page views. Of a session that goes on in a later
 * period, or began before the first one, each visit counts in its own period. With a dimension, all have the value of their session.
 */
function countedFrom(limits: string, dimension?: VisitDimension): string {
  const value = dimension ? ', value' : '';
  const valueOfSession = dimension ? `, coalesce(sessions.${dimension}, 'unknown') as value` : '';
  return `${periodsFrom(limits)},
  begun as (
    select
      period, to_ms, visitor, sessions.start_ms, sessions.end_ms, sessions.pages, sessions.bounced${valueOfSession}
    from sessions join cells on ${isIn('sessions.start_ms')}
  ),
  crossing as (
    select visitor, start_ms, end_ms${value} from begun where end_ms >= to_ms
    union all
    select visitor, sessions.start_ms, sessions.end_ms${valueOfSession}
    from sessions join periods
      on period = 1 and sessions.start_ms < from_ms and sessions.end_ms >= from_ms
  ),
  counted as (
    select
      period, visitor, case when end_ms < to_ms then pages else 0 end as views,
      end_ms - start_ms as duration_ms, bounced${value}
    from begun
    union all
    select period, crossing.visitor, 1, null, false${value}
    from crossing
    join visits
      on visits.visitor = crossing.visitor
      and visits.at_ms >= crossing.start_ms and visits.at_ms <= crossing.end_ms
    join cells on ${isIn('visits.at_ms')}
  )`;
}

/**
 * - Visitors: distinct visitors of the visits in the period. Page views: visits in the period.
 * - Sessions: those that begin in the period. Duration: from the first visit of a session to its last; the median of the sessions.
 * - Bounces: sessions of one page view without an event of that user in the 30 minutes after (see store/sql/sessions.ts).
 */
const MEASURES = `
    count(distinct visitor) as visitors,
    count(duration_ms) as sessions,
    cast(coalesce(sum(views), 0) as bigint) as page_views,
    count(*) filter (where bounced) as bounces,
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
    period,${MEASURES}
  from counted
  group by grouping sets ((period), ())`,
};

/** The traffic by value of the dimension, and with the value null that of all of them together. $1: limits of the range. */
function byValue(dimension: VisitDimension): NamedQuery {
  return {
    name: `traffic by ${dimension}`,
    sql: `
  with ${countedFrom('$1', dimension)}
  select
    value,${MEASURES}
  from counted
  group by grouping sets ((value), ())`,
  };
}

/** The traffic by period and value of the dimension. $1: limits of the periods. $2: the values. */
function byPeriodAndValue(dimension: VisitDimension): NamedQuery {
  return {
    name: `traffic by period and ${dimension}`,
    sql: `
  with ${countedFrom('$1', dimension)}
  select
    period, value,${MEASURES}
  from counted
  where value in ${itemsOf('$2')}
  group by period, value`,
  };
}

const dimensions = ['channel', 'country', 'device', 'browser', 'os'] as const satisfies readonly VisitDimension[];
const queriesFor = (query: (dimension: VisitDimension) => NamedQuery) =>
  Object.fromEntries(dimensions.map((dimension) => [dimension, query(dimension)])) as Record<
    VisitDimension,
    NamedQuery
  >;

export const trafficByValue = queriesFor(byValue);
export const trafficByPeriodAndValue = queriesFor(byPeriodAndValue);
