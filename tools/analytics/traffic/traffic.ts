import { z } from 'zod';
import { metric, periodShape, ratio, seriesOf, share } from '../request.ts';
import { measures, splitBy, trafficOf, trafficOfLabels } from './measures.ts';
import type { VisitDimension } from './traffic.sql.ts';

const WHAT =
  'A session is the visits of a visitor without a gap of more than 30 minutes; it belongs to the period in which it starts. Visitors and page views count the visits of the period. Bounce rate = sessions of one page view without an event of that user in the 30 minutes after / sessions. Duration runs from the first to the last visit of a session.';

export const getTrafficVisitors = metric({
  name: 'get_traffic_visitors',
  title: 'Get traffic visitors',
  description: 'Visitors, sessions, page views, bounce rate and median session duration, per period and in all.',
  keywords:
    'page views, visits, hits, web analytics, bounce rate, how many people visited the site, Google Analytics, number of visitors, website traffic, most visits',
  topic: 'traffic',
  interval: 'day',
  definition: WHAT,
  shape: { totals: z.object(measures), series: z.array(z.object({ ...periodShape, ...measures })) },

  async answer({ periods, now }, rows) {
    const { totals, each } = await trafficOf(rows, periods);
    return { totals, series: seriesOf({ periods, now }, each, (measures) => measures) };
  },
});

/** So many values of each dimension have a series: fewer where they have many periods, as an answer that is too long holds up others. */
const [FEWEST_SERIES, MOST_SERIES] = [2, 8];
const MOST_POINTS = 2000;

/** A metric that splits the traffic of the range by members of the visit with which each session began. */
function splitMetric<Name extends VisitDimension>(
  named: Readonly<Record<'name' | 'title' | 'description' | 'keywords', string>>,
  dimensions: readonly [Name, ...Name[]],
) {
  const label = { dimension: z.enum(dimensions), value: z.string() };
  const split = splitBy(dimensions);
  return metric({
    ...named,
    topic: 'traffic',
    interval: 'day',
    whole: 'by default',
    definition: `${WHAT} Everything is split by the ${dimensions.join(', ')} of the visit with which the session began; "unknown" where it has none.`,
    shape: {
      totals: z.object(measures),
      rows: z.array(z.object({ ...label, ...measures, shareOfSessions: share })),
      series: z
        .array(z.object({ ...label, ...periodShape, ...measures }))
        .optional()
        .describe(
          `With \`interval\`: the periods of the up to ${MOST_SERIES} values of each dimension with most sessions, fewer in long series.`,
        ),
    },

    async answer(question, rows) {
      const { periods, now, isWhole } = question;
      const fitting = Math.floor(MOST_POINTS / (periods.length * dimensions.length));
      const { totals, labelled, each } = await trafficOfLabels(
        rows,
        split,
        isWhole
          ? { periods: [question], series: 0 }
          : { periods, series: Math.min(MOST_SERIES, Math.max(FEWEST_SERIES, fitting)) },
      );
      const answer = {
        totals,
        rows: labelled.map((row) => ({ ...row, shareOfSessions: ratio(row.sessions, totals.sessions) })),
        ...(!isWhole && {
          series: each.flatMap(({ dimension, value, each: measured }) =>
            seriesOf({ periods, now }, measured, (measures) => ({ dimension, value, ...measures })),
          ),
        }),
      };
      // Zod's type of an enum of generic names is wider than the names.
      return answer as never;
    },
  });
}

export const getTrafficChannels = splitMetric(
  {
    name: 'get_traffic_channels',
    title: 'Get traffic channels',
    description: 'Traffic of the range by channel: Direct, Search, Social, Mail, Video, Referral or as imported.',
    keywords:
      'marketing source, UTM, campaign, referrer, where do visitors come from, SEO, ads, social, which marketing channel works, source of traffic',
  },
  ['channel'],
);

export const getTrafficGeography = splitMetric(
  {
    name: 'get_traffic_geography',
    title: 'Get traffic geography',
    description: 'Traffic of the range by country (ISO 3166-1): visitors, sessions, page views, bounce rate.',
    keywords:
      'countries, regions, map, locations of visitors, where in the world, visitors by country, from which countries',
  },
  ['country'],
);

export const getTrafficTechnology = splitMetric(
  {
    name: 'get_traffic_technology',
    title: 'Get traffic technology',
    description: 'Traffic of the range by device, by browser and by operating system, one row per value of each.',
    keywords:
      'browsers, phones, mobile or desktop, devices, operating systems, Chrome, Safari, iOS, Android, desktop versus mobile, browser share',
  },
  ['device', 'browser', 'os'],
);
