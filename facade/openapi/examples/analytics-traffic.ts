import { metricExamples, months } from './metric.ts';

const totals = { visitors: 1, sessions: 1, pageViews: 2, bounceRate: 0, medianDurationSeconds: 120 };
const nothing = { visitors: 0, sessions: 0, pageViews: 0, bounceRate: null, medianDurationSeconds: null };
const row = (dimension: string, value: string) => ({ dimension, value, ...totals, shareOfSessions: 1 });

export const trafficExamples = metricExamples({
  get_traffic_channels: { totals, rows: [row('channel', 'Search')] },
  get_traffic_geography: { totals, rows: [row('country', 'DE')] },
  get_traffic_technology: {
    totals,
    rows: [row('device', 'desktop'), row('browser', 'Firefox'), row('os', 'Linux')],
  },
  get_traffic_visitors: { totals, series: months(totals, nothing) },
});
