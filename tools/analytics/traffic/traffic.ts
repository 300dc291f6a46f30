import { z } from 'zod';
import type { VisitDimension } from '../model/session-index.ts';
import { metric, periodHead, periodShape, ratio, share } from '../request.ts';
import { measures, Traffic, trafficParts } from './measure.ts';

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

  parts: ({ model }) => trafficParts(model),
  answer({ model, periods, now, start, end }) {
    const traffic = new Traffic(model);
    const series = periods.map((period) => ({
      ...periodHead(period, now),
      ...traffic.measure(period.start, period.end),
    }));
    return { totals: traffic.measure(start, end), series };
  },
});

/** A metric that splits the traffic of the range by a member of the visit with which each session began. */
function split<Name extends VisitDimension>(
  named: { readonly name: string; readonly title: string; readonly description: string },
  dimensions: readonly [Name, ...Name[]],
) {
  return metric({
    ...named,
    topic: 'traffic',
    interval: 'day',
    whole: true,
    definition: `${WHAT} Everything is split by the ${dimensions.join(', ')} of the visit with which the session began; "unknown" where it has none.`,
    shape: {
      totals: z.object(measures),
      rows: z.array(
        z.object({ dimension: z.enum(dimensions), value: z.string(), ...measures, shareOfSessions: share }),
      ),
    },

    parts: ({ model }) => trafficParts(model, dimensions),
    answer({ start, end, model }) {
      const traffic = new Traffic(model);
      const totals = traffic.measure(start, end);
      const rows = dimensions.flatMap((dimension) =>
        [...traffic.measureBy(dimension, start, end)]
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
