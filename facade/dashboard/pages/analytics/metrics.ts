/** A metric, and which of its numbers are drawn. */
export interface Metric {
  readonly tool: string;
  readonly title: string;
  readonly group: 'Overview' | 'Revenue' | 'Product' | 'Traffic';
  /** Members of the series that are drawn, each chart on its own scale. */
  readonly charts?: readonly { readonly title: string; readonly members: readonly string[]; readonly bars?: boolean }[];
  /** Totals that stand above everything; by default all of them. */
  readonly headlines?: readonly string[];
}

export const METRICS: readonly Metric[] = [
  {
    tool: 'get_overview',
    title: 'Overview',
    group: 'Overview',
    charts: [
      { title: 'Monthly recurring revenue', members: ['mrr'] },
      { title: 'Users', members: ['activeUsers', 'newUsers', 'payingCustomers'] },
    ],
    headlines: ['mrr', 'payingCustomers', 'activeUsers', 'newUsers'],
  },
  { tool: 'get_insights', title: 'Insights', group: 'Overview' },
  {
    tool: 'get_mrr',
    title: 'Recurring revenue',
    group: 'Revenue',
    charts: [
      { title: 'Monthly recurring revenue', members: ['mrr'] },
      { title: 'Movements', members: ['new', 'expansion', 'contraction', 'churn', 'reactivation'] },
    ],
    headlines: ['mrr', 'new', 'expansion', 'contraction', 'churn'],
  },
  {
    tool: 'get_churn',
    title: 'Churn',
    group: 'Revenue',
    charts: [{ title: 'Churn', members: ['customerChurn', 'grossMrrChurn', 'netMrrChurn'] }],
    headlines: ['customerChurn', 'grossMrrChurn', 'netMrrChurn', 'churnedCustomers'],
  },
  {
    tool: 'get_ltv',
    title: 'Lifetime value',
    group: 'Revenue',
    charts: [{ title: 'Lifetime value', members: ['ltv'] }],
    headlines: ['ltv', 'arpa', 'meanMonthlyChurn', 'customers'],
  },
  {
    tool: 'get_subscriptions',
    title: 'Subscriptions',
    group: 'Revenue',
    charts: [
      { title: 'Subscriptions', members: ['active', 'trialing', 'pastDue'] },
      { title: 'Started and ended', members: ['started', 'ended'] },
    ],
  },
  {
    tool: 'get_active_users',
    title: 'Active users',
    group: 'Product',
    charts: [
      { title: 'Active users', members: ['dau', 'wau', 'mau'] },
      { title: 'Stickiness', members: ['stickiness'] },
    ],
  },
  { tool: 'get_cohort_retention', title: 'Retention', group: 'Product', headlines: ['users'] },
  { tool: 'get_feature_adoption', title: 'Feature adoption', group: 'Product' },
  { tool: 'get_onboarding_funnel', title: 'Onboarding funnel', group: 'Product' },
  {
    tool: 'get_website_states',
    title: 'Websites',
    group: 'Product',
    charts: [{ title: 'Websites', members: ['published', 'draft', 'suspended', 'deleted'] }],
  },
  {
    tool: 'get_traffic_visitors',
    title: 'Visitors',
    group: 'Traffic',
    charts: [
      { title: 'Visitors', members: ['visitors', 'sessions', 'pageViews'] },
      { title: 'Bounce rate', members: ['bounceRate'] },
    ],
  },
  { tool: 'get_traffic_channels', title: 'Channels', group: 'Traffic' },
  { tool: 'get_traffic_geography', title: 'Countries', group: 'Traffic' },
  { tool: 'get_traffic_technology', title: 'Technology', group: 'Traffic' },
];

/** What every metric answers. */
export interface MetricAnswer {
  readonly asOf: string;
  readonly definition: string;
  readonly range: { readonly from: string; readonly to: string; readonly interval?: string; readonly timezone: string };
  readonly currency?: string;
  readonly totals: Readonly<Record<string, unknown>>;
  readonly series?: readonly Readonly<Record<string, unknown>>[];
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
  /** Rows that were left out. */
  readonly warnings?: readonly {
    readonly reason: string;
    readonly type?: string;
    readonly rows?: number;
    readonly currency?: string;
  }[];
  /** The period before, where it was asked for. */
  readonly previous?: {
    readonly from: string;
    readonly to: string;
    readonly totals: Readonly<Record<string, unknown>>;
  };
}
