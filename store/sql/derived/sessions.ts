import type { DerivedTable } from '../derived-table.ts';
import { createTable } from '../raw-tables.ts';

/** A session ends when its visitor makes no visit for this long. A page view with an event in so long after it is not a bounce. */
const GAP_MS = 1_800_000;
const labels = ['channel', 'country', 'device', 'browser', 'os'];

/**
 * Makes the sessions of some visitors. A session is a visitor's visits without a gap of more than 30 minutes from one to the next; visits of
 * the same moment are in the order in which they came. Its channel, country, device, browser and os are those of its first visit,
 * "unknown" where that has none. It is bounced if it has one page view and that visit's user has no event from then until 30 minutes later.
 */
function sessionsOf(isWanted: string): string {
  return `
insert into sessions
with
-- each visit with the one before it, and its place among the visits of the visitor
placed as (
  select
    visitor, person, at_ms, channel, country, device, browser, os,
    lag(at_ms) over (partition by visitor order by at_ms, seq) as before_ms,
    row_number() over (partition by visitor order by at_ms, seq) as place,
    count(*) over (partition by visitor) as places,
    max(at_ms) over (partition by visitor) as last_ms
  from visits
  where ${isWanted}
),
firsts as (
  select * from placed where before_ms is null or at_ms - before_ms > ${GAP_MS}
),
-- a session ends with the visit before the next session
spans as (
  select
    visitor, person, at_ms as start_ms, ${labels.map((label) => `coalesce(${label}, 'unknown') as ${label}`).join(', ')},
    coalesce(lead(before_ms) over (partition by visitor order by place), last_ms) as end_ms,
    coalesce(lead(place) over (partition by visitor order by place), places + 1) - place as pages
  from firsts
),
-- single page views with the half hours in which such an event can lie
single as (
  select visitor, person, start_ms, start_ms / ${GAP_MS} + later as half_hour
  from spans cross join (select 0 as later union all select 1) as laters
  where pages = 1 and person is not null
),
busy as (
  select distinct single.visitor, single.start_ms
  from single join events
    on events.person = single.person
    and events.at_ms / ${GAP_MS} = single.half_hour
    and events.at_ms >= single.start_ms
    and events.at_ms <= single.start_ms + ${GAP_MS}
)
select
  spans.visitor, spans.start_ms, spans.end_ms, spans.pages,
  spans.pages = 1 and busy.visitor is null,
  spans.channel, spans.country, spans.device, spans.browser, spans.os,
  ${endBefore('spans.visitor')},
  ${labels.map((label) => endBefore(`spans.visitor, spans.${label}`)).join(',\n  ')}
from spans left join busy on busy.visitor = spans.visitor and busy.start_ms = spans.start_ms`;
}

function endBefore(columns: string): string {
  return `coalesce(lag(spans.end_ms) over (partition by ${columns} order by spans.start_ms), ${NEVER_MS})`;
}

/** Before all times: comparing with it is cheaper than with null. */
const NEVER_MS = -Number.MAX_SAFE_INTEGER;

const columns = {
  visitor: 'bigint',
  start_ms: 'bigint',
  end_ms: 'bigint',
  pages: 'bigint',
  bounced: 'boolean',
  channel: 'text',
  country: 'text',
  device: 'text',
  browser: 'text',
  os: 'text',
  /**
   * The end of the visitor's session before, then of the one before that has the same channel, country and so on. Before all times if
   * there is none.
   */
  before_ms: 'bigint',
  channel_before_ms: 'bigint',
  country_before_ms: 'bigint',
  device_before_ms: 'bigint',
  browser_before_ms: 'bigint',
  os_before_ms: 'bigint',
} as const;

export const sessions: DerivedTable = {
  name: 'sessions',
  ddl: [createTable('sessions', columns)],
  follows: ['visitors', 'events'],
  renew: [
    // An event decides whether its user's visits in the 30 minutes before it are bounces.
    `insert into touched_visitors
      with possible as (
        select person, at_ms, at_ms / ${GAP_MS} - earlier as half_hour
        from touched_events cross join (select 0 as earlier union all select 1) as earliers
      )
      select distinct visits.visitor
      from possible join visits
        on visits.person = possible.person
        and visits.at_ms / ${GAP_MS} = possible.half_hour
        and visits.at_ms >= possible.at_ms - ${GAP_MS}
        and visits.at_ms <= possible.at_ms
      where visits.visitor not in (select visitor from touched_visitors)`,
    'delete from sessions where visitor in (select visitor from touched_visitors)',
    sessionsOf('visitor in (select visitor from touched_visitors)'),
  ],
  rebuild: [sessionsOf('visitor % {slices} = {slice}')],
  slices: 8,
};
