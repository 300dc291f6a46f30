import { z } from 'zod';
import { type WebsiteState, websiteState } from '../../../resources/imported-rows.ts';
import { limitsOf, metric, periodShape, seriesOf } from '../request.ts';
import { websitesByPeriod, websiteTransitions } from './websites.sql.ts';

const count = z.int().min(0);
const STATES = websiteState.options;
const states = { draft: count, published: count, suspended: count, deleted: count };
const flow = { created: count, transitions: count };

export const getWebsiteStates = metric({
  name: 'get_website_states',
  title: 'Get website states',
  description: 'Websites per state at the end of the range and of each period, and the transitions between states.',
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
