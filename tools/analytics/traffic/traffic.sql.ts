import type { NamedQuery } from '../../../store/rows-port.ts';
import { DAYS, edgesOf, inDay, isIn, periodsFrom } from '../periods.sql.ts';

export type VisitDimension = 'channel' | 'country' | 'device' | 'browser' | 'os';
type Dimensions = readonly VisitDimension[];

const { isIn: isInDay, period, fromMs, toMs } = inDay('start_ms');
const { first: FIRST_MS, last: LAST_MS } = edgesOf('$1');

/** How many rows have it. Cheaper than a filter of the aggregate. */
const countOf = (has: string) => `count(case when ${has} then 1 end)`;
const sumOf = (value: string) => `cast(sum(${value}) as bigint)`;
const each = (dimensions: Dimensions, write: (dimension: VisitDimension) => string) => dimensions.map(write).join('');

interface Counted {
  readonly rows: string;
  /** Their sessions, page views, bounces, and sessions without a duration. */
  readonly counts: readonly [string, string, string, string];
  /** Their visitors with the same value of a dimension, or with any: those not there earlier in the period, or in any of the periods. */
  readonly visitors: (dimension: VisitDimension | 'all', isOfAll: boolean) => string;
}

/** Counts the rows by period and value of each dimension, in one pass over them; by period where there is no dimension. */
function counted(dimensions: Dimensions, { rows, counts, visitors }: Counted): string {
  const chosen = (write: (dimension: VisitDimension | 'all') => string) =>
    dimensions.length === 0
      ? write('all')
      : `case ${each(dimensions, (one) => `when grouping(${one}) = 0 then ${write(one)} `)}end`;
  const sets = dimensions.map((dimension) => `(period, ${dimension})`).join(', ') || '(period)';
  const [sessions, pageViews, bounces, momentary] = counts;
  return `
    select
      ${chosen((one) => `'${one}'`)} as dimension, ${chosen((one) => (one === 'all' ? `''` : one))} as label, period,
      ${chosen((one) => visitors(one, false))} as visitors, ${chosen((one) => visitors(one, true))} as visitors_of_all,
      ${visitors('all', true)} as whole_visitors_of_all,
      ${sessions} as sessions, ${pageViews} as page_views, ${bounces} as bounces, ${momentary} as momentary
    from ${rows}
    group by grouping sets (${sets})`;
}

/**
 * What is counted, as `sums`. Each session counts in the period in which it begins, with its page views. Of a session that goes on in a later
 * period, or began before the first one, the visits count in their own periods. All have the labels of their session.
 *
 * Visitors are counted without comparing them: a session is of a visitor who is there again in the period if the visitor's session before
 * ended in the period; again with the same device, if the one before with that device did.
 */
function sumsFrom(dimensions: Dimensions): string {
  const labels = each(dimensions, (dimension) => `, ${dimension}`);
  return `${periodsFrom('$1')},
  ${DAYS},
  -- read again rather than kept, as it can be larger than the memory
  begun as not materialized (
    select
      ${period} as period, ${fromMs} as from_ms, start_ms, end_ms, pages, bounced,
      before_ms as all_before_ms${labels}${each(dimensions, (one) => `, ${one}_before_ms`)}
    from sessions join days on ${isInDay}
    -- the period is worked out once for each session, not wherever it is used
    offset 0
  ),
  crossing as materialized (
    select ${period} as period, pages, visitor, start_ms, end_ms${labels}
    from sessions left join days on ${isInDay}
    where end_ms > start_ms and end_ms >= ${FIRST_MS} and start_ms < ${LAST_MS} and (cell is null or end_ms >= ${toMs})
  ),
  -- worked out by itself, as otherwise all visits would first be joined with the cells; few sessions cross, so their visits are looked up
  seen as materialized (
    select crossing.visitor, start_ms, at_ms${each(dimensions, (one) => `, crossing.${one}`)}
    from crossing cross join lateral (
      select at_ms from visits where visits.visitor = crossing.visitor and at_ms >= start_ms and at_ms <= end_ms offset 0
    ) as visited
  ),
  parts as materialized (
    select
      period, count(*) as views, start_ms < from_ms as is_first,
      start_ms < ${FIRST_MS} and period = min(period) over (partition by visitor, start_ms) as is_first_of_all${labels}
    from seen join cells on ${isIn('at_ms')}
    group by visitor, start_ms, period, from_ms${labels}
    union all
    select period, -pages, false, false${labels} from crossing where period is not null
  ),
  sums as materialized (${counted(dimensions, {
    rows: 'begun',
    counts: ['count(*)', sumOf('pages'), countOf('bounced'), countOf('end_ms = start_ms')],
    visitors: (one, isOfAll) => `count(*) - ${countOf(`${one}_before_ms >= ${isOfAll ? FIRST_MS : 'from_ms'}`)}`,
  })}
    union all${counted(dimensions, {
      rows: 'parts',
      counts: ['0', sumOf('views'), '0', '0'],
      visitors: (_, isOfAll) => countOf(isOfAll ? 'is_first_of_all' : 'is_first'),
    })}
  )`;
}

/** The medians of the durations of `sought (dimension, label, period)`; period 0 is all. Exact and slow, so only those that are not 0 anyway. */
function mediansFrom(dimensions: Dimensions): string {
  const median = 'percentile_cont(0.5) within group (order by end_ms - start_ms) as median_ms';
  // Where there are several dimensions, the sessions are read once for all.
  const rows = dimensions.length > 1 ? 'read_once' : 'begun';
  const of = (dimension: VisitDimension | 'all') => {
    const [label, by] = dimension === 'all' ? [`''`, ''] : [dimension, `, ${dimension}`];
    const isOf = `sought.dimension = '${dimension}' and sought.label = ${label}`;
    return {
      each: `
    select '${dimension}' as dimension, ${label} as label, ${rows}.period, ${median}
    from ${rows} join sought on ${isOf} and sought.period = ${rows}.period
    group by ${rows}.period${by}`,
      whole: `
    select '${dimension}' as dimension, ${label} as label, sought.period, ${median}
    from sessions join sought on ${isOf} and sought.period = 0
    where start_ms >= ${FIRST_MS} and start_ms < ${LAST_MS}
    group by sought.period${by}`,
    };
  };
  const inPeriods = dimensions.length === 0 ? (['all'] as const) : dimensions;
  const parts = [
    ...inPeriods.map((one) => of(one).each),
    ...(['all', ...dimensions] as const).map((one) => of(one).whole),
  ];
  const read = `
  read_once as materialized (
    select period, start_ms, end_ms${each(dimensions, (one) => `, ${one}`)}
    from begun where period in (select period from sought)
  ),`;
  return `${dimensions.length > 1 ? read : ''}
  medians as (${parts.join('\n    union all')}
  )`;
}

export interface MeasuresRow {
  readonly visitors: number;
  readonly sessions: number;
  readonly page_views: number;
  readonly bounces: number;
  readonly median_ms: number | null;
}

/**
 * - Visitors: distinct visitors of the visits in the period. Page views: visits in the period.
 * - Sessions: those that begin in the period. Duration: from the first visit of a session to its last; the median of the sessions.
 * - Bounces: sessions of one page view without an event of that user in the 30 minutes after (see store/sql/derived/sessions.ts).
 *
 * They are told of all periods together, as period 0: in all, as the dimension `all` without a label, and of each label of each dimension. Of
 * each period they are told for the labels with most sessions, and where there is no dimension, in all. $1: limits of the periods. $2: how many
 * labels of each dimension.
 */
export function trafficBy(dimensions: Dimensions): NamedQuery {
  const measures = ['sessions', 'page_views', 'bounces', 'momentary']
    .map((one) => `${sumOf(one)} as ${one}`)
    .join(', ');
  const [first] = dimensions;
  const inAll = `
    union all
    select 'all', '', 0, ${sumOf('whole_visitors_of_all')}, ${measures} from sums where dimension = '${first}' group by dimension`;
  return {
    name: ['traffic', ...dimensions].join(' by '),
    sql: `
  with ${sumsFrom(dimensions)},
  wholes as materialized (
    select dimension, label, 0 as period, ${sumOf('visitors_of_all')} as visitors, ${measures}
    from sums group by dimension, label${first ? inAll : ''}
  ),
  largest as (
    select dimension, label
    from (
      select
        dimension, label,
        row_number() over (partition by dimension order by sessions desc, page_views desc, label collate "C") as place
      from wholes
    ) as ordered
    where place <= cast($2 as bigint)
  ),
  measured as materialized (
    select * from wholes
    union all
    select sums.dimension, sums.label, period, ${sumOf('visitors')} as visitors, ${measures}
    from sums join largest on largest.dimension = sums.dimension and largest.label = sums.label
    group by sums.dimension, sums.label, period
  ),
  -- where more than half of the durations are 0, so is their median
  sought as materialized (
    select dimension, label, period from measured where sessions > 0 and 2 * momentary <= sessions
  ),${mediansFrom(dimensions)}
  select
    measured.dimension, measured.label, measured.period, visitors, sessions, page_views, bounces,
    case when sessions > 0 then coalesce(median_ms, 0) end as median_ms
  from measured left join medians
    on medians.dimension = measured.dimension and medians.label = measured.label and medians.period = measured.period`,
  };
}
