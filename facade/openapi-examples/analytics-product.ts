import type { Examples } from './example.ts';

export const productExamples: Examples = {
  get_active_users: {
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
        'Active users: distinct users with an activity event (settings analytics.activityEvents) in the 1, 7, 30 days ending with the point, which is the last day of the period, or today in one that is not over. Stickiness of a point = DAU / MAU; in the totals the mean of it over the days of the range up to today that have active users in their 30 days. Totals count distinct active users of the whole range.',
      totals: {
        activeUsers: 1,
        stickiness: 0.05357142857142857,
        averageDau: 0.05084745762711865,
      },
      series: [
        {
          from: '2026-01-01',
          to: '2026-02-01',
          complete: true,
          dau: 0,
          wau: 0,
          mau: 1,
          stickiness: 0,
        },
        {
          from: '2026-02-01',
          to: '2026-03-01',
          complete: true,
          dau: 0,
          wau: 0,
          mau: 1,
          stickiness: 0,
        },
      ],
    },
  },
  get_cohort_retention: {
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
        'A cohort is the users whose first activity event ever is in the period. Value k is the share of them active in the k-th period after it; period 0 is 1. Values of periods that are not over yet, and of empty cohorts, are null. The average of value k is weighted by cohort size over the cohorts that have it.',
      totals: {
        users: 1,
        average: [1, 1],
      },
      rows: [
        {
          cohort: '2026-01-01',
          size: 1,
          values: [1, 1],
        },
        {
          cohort: '2026-02-01',
          size: 0,
          values: [null],
        },
      ],
    },
  },
  get_feature_adoption: {
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
        'Adoption = users with an event of the feature (settings analytics.features) in the range / active users of the range. First-time users have their first event of the feature ever in the range.',
      totals: {
        activeUsers: 1,
      },
      rows: [
        {
          feature: 'export',
          users: 1,
          firstTimeUsers: 1,
          uses: 1,
          adoption: 1,
        },
      ],
    },
  },
  get_onboarding_funnel: {
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
        'A user passes a step with the first event of its name in the range that comes after the one that passed the step before. Conversion = users of the step / users of the first step, or of the step before; seconds are the median from the step before. Steps: settings analytics.funnel.',
      totals: {
        entered: 1,
        completed: 1,
        conversion: 1,
      },
      rows: [
        {
          step: 1,
          event: 'signed_up',
          users: 1,
          conversionFromFirst: 1,
          conversionFromPrevious: null,
          medianSecondsFromPrevious: null,
        },
        {
          step: 2,
          event: 'site.created',
          users: 1,
          conversionFromFirst: 1,
          conversionFromPrevious: 1,
          medianSecondsFromPrevious: 93600,
        },
      ],
    },
  },
  get_website_states: {
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
        'A website is a draft from its creation, then in the state its imports say, each from its own time on. Counts are those at the end of the range or period, or of asOf where that is earlier; transitions and creations are those within the range.',
      totals: {
        draft: 0,
        published: 1,
        suspended: 0,
        deleted: 0,
        created: 1,
        transitions: 1,
      },
      rows: [
        {
          from: 'draft',
          to: 'published',
          count: 1,
        },
      ],
      series: [
        {
          from: '2026-01-01',
          to: '2026-02-01',
          complete: true,
          draft: 0,
          published: 1,
          suspended: 0,
          deleted: 0,
          created: 1,
          transitions: 1,
        },
        {
          from: '2026-02-01',
          to: '2026-03-01',
          complete: true,
          draft: 0,
          published: 1,
          suspended: 0,
          deleted: 0,
          created: 0,
          transitions: 0,
        },
      ],
    },
  },
};
