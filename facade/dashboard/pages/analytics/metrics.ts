/** A metric, and which of its numbers are drawn. */
export interface Metric {
  readonly tool: string;
  readonly title: string;
  readonly group: 'Overview' | 'Revenue' | 'Product' | 'Traffic';
  /** Members of the series that are drawn, each chart on its own scale. */
  readonly charts?: readonly { readonly title: string; readonly members: readonly string[]; readonly bars?: boolean }[];
  /** Totals that stand above everything; by default all of them. */
  readonly headlines?: readonly string[];
  /** The numbers above are those of the last whole period, as the chart shows them: over a longer time they say little. */
  readonly isPerPeriod?: true;
}

const chart = (title: string, ...members: string[]) => ({ title, members });

export const METRICS: readonly Metric[] = [
  {
    tool: 'get_overview',
    title: 'Overview',
    group: 'Overview',
    charts: [chart('Monthly recurring revenue', 'mrr'), chart('Users', 'activeUsers', 'newUsers', 'payingCustomers')],
    headlines: ['mrr', 'payingCustomers', 'activeUsers', 'newUsers'],
  },
  { tool: 'get_insights', title: 'Insights', group: 'Overview' },
  {
    tool: 'get_mrr',
    title: 'Recurring revenue',
    group: 'Revenue',
    charts: [
      chart('Monthly recurring revenue', 'mrr'),
      chart('Movements', 'new', 'expansion', 'contraction', 'churn', 'reactivation'),
    ],
    headlines: ['mrr', 'new', 'expansion', 'contraction', 'churn'],
  },
  {
    tool: 'get_churn',
    title: 'Churn',
    group: 'Revenue',
    charts: [chart('Churn', 'customerChurn', 'grossMrrChurn', 'netMrrChurn')],
    headlines: ['customerChurn', 'grossMrrChurn', 'netMrrChurn', 'churnedCustomers'],
    isPerPeriod: true,
  },
  {
    tool: 'get_ltv',
    title: 'Lifetime value',
    group: 'Revenue',
    charts: [chart('Lifetime value', 'ltv')],
    headlines: ['ltv', 'arpa', 'meanMonthlyChurn', 'customers'],
  },
  {
    tool: 'get_subscriptions',
    title: 'Subscriptions',
    group: 'Revenue',
    charts: [chart('Subscriptions', 'active', 'trialing', 'pastDue'), chart('Started and ended', 'started', 'ended')],
  },
  {
    tool: 'get_active_users',
    title: 'Active users',
    group: 'Product',
    charts: [chart('Active users', 'dau', 'wau', 'mau'), chart('Stickiness', 'stickiness')],
  },
  { tool: 'get_cohort_retention', title: 'Retention', group: 'Product', headlines: ['users'] },
  { tool: 'get_feature_adoption', title: 'Feature adoption', group: 'Product' },
  { tool: 'get_onboarding_funnel', title: 'Onboarding funnel', group: 'Product' },
  {
    tool: 'get_website_states',
    title: 'Websites',
    group: 'Product',
    charts: [chart('Websites', 'published', 'draft', 'suspended', 'deleted')],
  },
  {
    tool: 'get_traffic_visitors',
    title: 'Visitors',
    group: 'Traffic',
    charts: [chart('Visitors', 'visitors', 'sessions', 'pageViews'), chart('Bounce rate', 'bounceRate')],
  },
  { tool: 'get_traffic_channels', title: 'Channels', group: 'Traffic' },
  { tool: 'get_traffic_geography', title: 'Countries', group: 'Traffic' },
  { tool: 'get_traffic_technology', title: 'Technology', group: 'Traffic' },
];

type Numbers = Readonly<Record<string, unknown>>;

/** What every metric answers. */
export interface MetricAnswer {
  readonly asOf: string;
  readonly definition: string;
  readonly range: Readonly<{ from: string; to: string; interval?: string; timezone: string }>;
  readonly currency?: string;
  readonly totals: Numbers;
  readonly series?: readonly Numbers[];
  readonly rows?: readonly Numbers[];
  /** Rows that were left out. */
  readonly warnings?: readonly Readonly<{ reason: string; type?: string; rows?: number; currency?: string }>[];
  /** The period before, where it was asked for. */
  readonly previous?: Readonly<{ from: string; to: string; totals: Numbers }>;
}
