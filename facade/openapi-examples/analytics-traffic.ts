import type { Examples } from './example.ts';

export const trafficExamples: Examples = {
  get_traffic_channels: {
    input: {
      from: '2026-01-01',
      to: '2026-03-01',
      interval: 'month',
    },
    answer: {
      asOf: '2026-03-01T09:00:00.000Z',
      range: {
        from: '2026-01-01',
        to: '2026-03-01',
        interval: 'month',
        timezone: 'UTC',
      },
      definition:
        'A session is the visits of a visitor without a gap of more than 30 minutes; it belongs to the period in which it starts. Visitors and page views count the visits of the period. Bounce rate = sessions of one page view without an event of that user in the 30 minutes after / sessions. Duration runs from the first to the last visit of a session. Everything is split by the channel of the visit with which the session began; "unknown" where it has none.',
      totals: {
        visitors: 1,
        sessions: 1,
        pageViews: 2,
        bounceRate: 0,
        medianDurationSeconds: 120,
      },
      rows: [
        {
          dimension: 'channel',
          value: 'Search',
          visitors: 1,
          sessions: 1,
          pageViews: 2,
          bounceRate: 0,
          medianDurationSeconds: 120,
          shareOfSessions: 1,
        },
      ],
    },
  },
  get_traffic_geography: {
    input: {
      from: '2026-01-01',
      to: '2026-03-01',
      interval: 'month',
    },
    answer: {
      asOf: '2026-03-01T09:00:00.000Z',
      range: {
        from: '2026-01-01',
        to: '2026-03-01',
        interval: 'month',
        timezone: 'UTC',
      },
      definition:
        'A session is the visits of a visitor without a gap of more than 30 minutes; it belongs to the period in which it starts. Visitors and page views count the visits of the period. Bounce rate = sessions of one page view without an event of that user in the 30 minutes after / sessions. Duration runs from the first to the last visit of a session. Everything is split by the country of the visit with which the session began; "unknown" where it has none.',
      totals: {
        visitors: 1,
        sessions: 1,
        pageViews: 2,
        bounceRate: 0,
        medianDurationSeconds: 120,
      },
      rows: [
        {
          dimension: 'country',
          value: 'DE',
          visitors: 1,
          sessions: 1,
          pageViews: 2,
          bounceRate: 0,
          medianDurationSeconds: 120,
          shareOfSessions: 1,
        },
      ],
    },
  },
  get_traffic_technology: {
    input: {
      from: '2026-01-01',
      to: '2026-03-01',
      interval: 'month',
    },
    answer: {
      asOf: '2026-03-01T09:00:00.000Z',
      range: {
        from: '2026-01-01',
        to: '2026-03-01',
        interval: 'month',
        timezone: 'UTC',
      },
      definition:
        'A session is the visits of a visitor without a gap of more than 30 minutes; it belongs to the period in which it starts. Visitors and page views count the visits of the period. Bounce rate = sessions of one page view without an event of that user in the 30 minutes after / sessions. Duration runs from the first to the last visit of a session. Everything is split by the device, browser, os of the visit with which the session began; "unknown" where it has none.',
      totals: {
        visitors: 1,
        sessions: 1,
        pageViews: 2,
        bounceRate: 0,
        medianDurationSeconds: 120,
      },
      rows: [
        {
          dimension: 'device',
          value: 'desktop',
          visitors: 1,
          sessions: 1,
          pageViews: 2,
          bounceRate: 0,
          medianDurationSeconds: 120,
          shareOfSessions: 1,
        },
        {
          dimension: 'browser',
          value: 'Firefox',
          visitors: 1,
          sessions: 1,
          pageViews: 2,
          bounceRate: 0,
          medianDurationSeconds: 120,
          shareOfSessions: 1,
        },
        {
          dimension: 'os',
          value: 'Linux',
          visitors: 1,
          sessions: 1,
          pageViews: 2,
          bounceRate: 0,
          medianDurationSeconds: 120,
          shareOfSessions: 1,
        },
      ],
    },
  },
  get_traffic_visitors: {
    input: {
      from: '2026-01-01',
      to: '2026-03-01',
      interval: 'month',
    },
    answer: {
      asOf: '2026-03-01T09:00:00.000Z',
      range: {
        from: '2026-01-01',
        to: '2026-03-01',
        interval: 'month',
        timezone: 'UTC',
      },
      definition:
        'A session is the visits of a visitor without a gap of more than 30 minutes; it belongs to the period in which it starts. Visitors and page views count the visits of the period. Bounce rate = sessions of one page view without an event of that user in the 30 minutes after / sessions. Duration runs from the first to the last visit of a session.',
      totals: {
        visitors: 1,
        sessions: 1,
        pageViews: 2,
        bounceRate: 0,
        medianDurationSeconds: 120,
      },
      series: [
        {
          from: '2026-01-01',
          to: '2026-02-01',
          complete: true,
          visitors: 1,
          sessions: 1,
          pageViews: 2,
          bounceRate: 0,
          medianDurationSeconds: 120,
        },
        {
          from: '2026-02-01',
          to: '2026-03-01',
          complete: true,
          visitors: 0,
          sessions: 0,
          pageViews: 0,
          bounceRate: null,
          medianDurationSeconds: null,
        },
      ],
    },
  },
};
