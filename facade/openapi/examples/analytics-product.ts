import { metricExamples, months } from './metric.ts';

const monthly = { dau: 0, wau: 0, mau: 1, stickiness: 0 };
const published = { draft: 0, published: 1, suspended: 0, deleted: 0 };

export const productExamples = metricExamples({
  get_active_users: {
    totals: { activeUsers: 1, stickiness: 0.05357142857142857, averageDau: 0.05084745762711865 },
    series: months(monthly, monthly),
  },
  get_cohort_retention: {
    totals: { users: 1, average: [1, 1] },
    rows: [
      { cohort: '2026-01-01', size: 1, values: [1, 1] },
      { cohort: '2026-02-01', size: 0, values: [null] },
    ],
  },
  get_feature_adoption: {
    totals: { activeUsers: 1 },
    rows: [{ feature: 'export', users: 1, firstTimeUsers: 1, uses: 1, adoption: 1 }],
  },
  get_onboarding_funnel: {
    totals: { entered: 1, completed: 1, conversion: 1 },
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
  get_website_states: {
    totals: { ...published, created: 1, transitions: 1 },
    rows: [{ from: 'draft', to: 'published', count: 1 }],
    series: months({ ...published, created: 1, transitions: 1 }, { ...published, created: 0, transitions: 0 }),
  },
});
