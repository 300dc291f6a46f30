import { z } from 'zod';
import type { Model } from '../model/model.ts';
import { lowerBound } from '../model/tables.ts';
import { SESSION_GAP_MS, type Sessions, type VisitDimension } from '../model/visits.ts';
import { median, metric, periodHead, periodShape, type Question, ratio, share } from '../request.ts';

const count = z.int().min(0);
const measures = {
  visitors: count,
  sessions: count,
  pageViews: count,
  bounceRate: share,
  medianDurationSeconds: z.number().min(0).nullable(),
};

const WHAT =
  'A session is the visits of a visitor without a gap of more than 30 minutes; it belongs to the period in which it starts. Visitors and page views count the visits of the period. Bounce rate = sessions of one page view without an event of that user in the 30 minutes after / sessions. Duration runs from the first to the last visit of a session.';

export const getTrafficVisitors = metric({
  name: 'get_traffic_visitors',
  title: 'Get traffic visitors',
  description: 'Visitors, sessions, page views, bounce rate and median session duration, per period and in all.',
  topic: 'traffic',
  interval: 'day',
  definition: WHAT,
  shape: { totals: z.object(measures), series: z.array(z.object({ ...periodShape, ...measures })) },

  answer(question) {
    const { periods, now, start, end } = question;
    const series = periods.map((period) => ({
      ...periodHead(period, now),
      ...measure(question, period.start, period.end)[0],
    }));
    return { totals: measure(question, start, end)[0], series };
  },
});

/** A metric that splits the traffic of the range by members of the visit a session began with. */
function split<Name extends VisitDimension>(
  named: { readonly name: string; readonly title: string; readonly description: string },
  dimensions: readonly [Name, ...Name[]],
) {
  return metric({
    ...named,
    topic: 'traffic',
    interval: 'day',
    definition: `${WHAT} Everything is split by the ${dimensions.join(', ')} of the visit with which the session began; "unknown" where it has none.`,
    shape: {
      totals: z.object(measures),
      rows: z.array(
        z.object({ dimension: z.enum(dimensions), value: z.string(), ...measures, shareOfSessions: share }),
      ),
    },

    answer(question) {
      const { start, end, model } = question;
      const totals = measure(question, start, end)[0];
      const rows = dimensions.flatMap((dimension) =>
        [...measureBy(question, start, end, model.visits.table.columns[dimension])]
          .map(([label, values]) => ({
            dimension,
            value: model.visits.labels.text(label) || 'unknown',
            ...values,
            shareOfSessions: ratio(values.sessions, totals.sessions),
          }))
          .sort((a, b) => b.sessions - a.sessions || b.pageViews - a.pageViews || (a.value < b.value ? -1 : 1)),
      );
      // Zod's type of an enum of generic names is wider than the names.
      return { totals, rows: rows as never };
    },
  });
}

export const getTrafficChannels = split(
  {
    name: 'get_traffic_channels',
    title: 'Get traffic channels',
    description: 'Traffic of the range by channel: Direct, Search, Social, Mail, Video, Referral or as imported.',
  },
  ['channel'],
);

export const getTrafficGeography = split(
  {
    name: 'get_traffic_geography',
    title: 'Get traffic geography',
    description: 'Traffic of the range by country (ISO 3166-1): visitors, sessions, page views, bounce rate.',
  },
  ['country'],
);

export const getTrafficTechnology = split(
  {
    name: 'get_traffic_technology',
    title: 'Get traffic technology',
    description: 'Traffic of the range by device, by browser and by operating system, one row per value of each.',
  },
  ['device', 'browser', 'os'],
);

type Measures = z.input<z.ZodObject<typeof measures>>;

/** The traffic of [from, to). */
export function measure(question: Question, from: number, to: number): [Measures] {
  const found = measureBy(question, from, to, undefined).get(0);
  return [found ?? { visitors: 0, sessions: 0, pageViews: 0, bounceRate: null, medianDurationSeconds: null }];
}

interface Tally {
  readonly visitors: Set<number>;
  pageViews: number;
  bounces: number;
  readonly durations: number[];
}

/** The measures by the value of a column in the row a session began with; all under 0 without a column. */
function measureBy(
  { model }: Question,
  from: number,
  to: number,
  column: Float64Array | Uint32Array | undefined,
): Map<number, Measures> {
  const { visits } = model;
  const sessions = visits.sessions();
  const bounced = bouncesOf(model, sessions);
  const { visitor } = visits.table.columns;
  const tallies = new Map<number, Tally>();
  const tallyOf = (session: number): Tally => {
    const value = column ? (column[sessions.first[session] ?? 0] ?? 0) : 0;
    let tally = tallies.get(value);
    if (!tally) {
      tally = { visitors: new Set(), pageViews: 0, bounces: 0, durations: [] };
      tallies.set(value, tally);
    }
    return tally;
  };
  for (const row of visits.within(from, to)) {
    const tally = tallyOf(sessions.of[row] ?? 0);
    tally.visitors.add(visitor[row] ?? 0);
    tally.pageViews += 1;
  }
  const { byStart } = sessions;
  const start = (session: number) => sessions.start[session] ?? 0;
  const last = lowerBound(byStart, to, start);
  for (let at = lowerBound(byStart, from, start); at < last; at += 1) {
    const session = byStart[at] ?? 0;
    const tally = tallyOf(session);
    tally.durations.push(((sessions.end[session] ?? 0) - start(session)) / 1000);
    tally.bounces += bounced[session] ?? 0;
  }
  return new Map([...tallies].map(([value, tally]) => [value, shown(tally)]));
}

const bounces = new WeakMap<Sessions, { readonly events: number; readonly bounced: Uint8Array }>();

/** 1 for sessions of one page view without an event of that user meanwhile. Made again when visits or events were added since. */
function bouncesOf({ events }: Model, sessions: Sessions): Uint8Array {
  const { size } = events.table;
  const kept = bounces.get(sessions);
  if (kept?.events === size) return kept.bounced;
  const bounced = sessions.start.reduce((found, start, session) => {
    const user = sessions.uid[session] ?? 0;
    const busy = user > 0 && events.hasEvent(user - 1, start, start + SESSION_GAP_MS);
    if (sessions.pages[session] === 1 && !busy) found[session] = 1;
    return found;
  }, new Uint8Array(sessions.start.length));
  bounces.set(sessions, { events: size, bounced });
  return bounced;
}

function shown({ visitors, pageViews, bounces, durations }: Tally): Measures {
  return {
    visitors: visitors.size,
    sessions: durations.length,
    pageViews,
    bounceRate: ratio(bounces, durations.length),
    medianDurationSeconds: median(durations),
  };
}
