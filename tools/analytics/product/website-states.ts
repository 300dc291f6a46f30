import { z } from 'zod';
import { type WebsiteState, websiteState } from '../../../resources/imported-rows.ts';
import type { NamedQuery } from '../../../store/rows-port.ts';
import { isBefore, isIn, periodsFrom } from '../periods.sql.ts';
import { limitsOf, metric, periodShape, seriesOf } from '../request.ts';

const count = z.int().min(0);
const STATES = websiteState.options;
const states = { draft: count, published: count, suspended: count, deleted: count };
const flow = { created: count, transitions: count };

export const getWebsiteStates = metric({
  name: 'get_website_states',
  title: 'Get website states',
  description: 'Websites per state at the end of the range and of each period, and the transitions between states.',
  keywords: 'published and draft sites, how many sites are live, unpublished, site status',
  topic: 'product',
  interval: 'day',
  definition:
    'A website is a draft from its creation, then in the state its imports say, each from its own time on. Counts are those at the end of the range or period, or of asOf where that is earlier; transitions and creations are those within the range.',
  shape: {
    totals: z.object({ ...states, ...flow }),
    rows: z.array(z.object({ from: websiteState, to: websiteState, count })).describe('Transitions that happened.'),
    series: z.array(z.object({ ...periodShape, ...states, ...flow })),
  },

  async answer({ periods, start, end, now }, rows) {
    const standings = await rows.query<Standing>(websitesByPeriod, [limitsOf(periods), now]);
    const series = seriesOf({ periods, now }, standings, (standing) => standing);
    const totals = {
      ...(standings.at(-1) ?? NONE),
      created: standings.reduce((sum, { created }) => sum + created, 0),
      transitions: standings.reduce((sum, { transitions }) => sum + transitions, 0),
    };
    const transitions = await rows.query<Transition>(websiteTransitions, [start, Math.min(end, now + 1)]);
    return { totals, rows: transitions.toSorted((a, b) => place(a) - place(b)), series };
  },
});

type Standing = { readonly [Member in keyof typeof states | keyof typeof flow]: number };
const NONE: Standing = { draft: 0, published: 0, suspended: 0, deleted: 0, created: 0, transitions: 0 };

interface Transition {
  readonly from: WebsiteState;
  readonly to: WebsiteState;
  readonly count: number;
}

function place({ from, to }: Transition): number {
  return STATES.indexOf(from) * STATES.length + STATES.indexOf(to);
}

const more = (state: string) =>
  `count(case when state = '${state}' then 1 end) - count(case when state_before = '${state}' then 1 end)`;

/**
 * How many websites are in each state at the end of each period, and how many were created and changed their state within, from
 * website_steps. $1: limits of the periods; $2: now, since imports may name future times, which have not happened yet.
 */
const websitesByPeriod: NamedQuery = {
  name: 'websites by period',
  sql: `
    with ${periodsFrom('$1')},
    steps as (
      select 0 as period, state, state_before from website_steps where ${isBefore('time_ms')} and time_ms <= $2
      union all
      select period, state, state_before from website_steps join cells on ${isIn('time_ms')} where time_ms <= $2
    ),
    moved as (
      select period,
        ${more('draft')} as draft,
        ${more('published')} as published,
        ${more('suspended')} as suspended,
        ${more('deleted')} as deleted,
        count(case when state_before is null then 1 end) as created,
        count(state_before) as transitions
      from steps
      group by period
    ),
    every as (select 0 as period union all select period from periods),
    standing as (
      select period,
        cast(coalesce(sum(draft) over so_far, 0) as bigint) as draft,
        cast(coalesce(sum(published) over so_far, 0) as bigint) as published,
        cast(coalesce(sum(suspended) over so_far, 0) as bigint) as suspended,
        cast(coalesce(sum(deleted) over so_far, 0) as bigint) as deleted,
        coalesce(created, 0) as created,
        coalesce(transitions, 0) as transitions
      from every left join moved using (period)
      window so_far as (order by period)
    )
    select draft, published, suspended, deleted, created, transitions from standing where period > 0 order by period`,
};

/** How many websites changed from one state to another in [$1, $2). */
const websiteTransitions: NamedQuery = {
  name: 'transitions of websites',
  sql: `
    select state_before as "from", state as "to", count(*) as count
    from website_steps
    where state_before is not null and time_ms >= $1 and time_ms < $2
    group by state_before, state`,
};
