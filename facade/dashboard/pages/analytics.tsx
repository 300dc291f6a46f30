import { toolsPage } from '../kind/tools-page.tsx';

export const Page = toolsPage('Analytics', [
  'get_overview',
  'get_mrr',
  'get_churn',
  'get_ltv',
  'get_subscriptions',
  'get_active_users',
  'get_cohort_retention',
  'get_feature_adoption',
  'get_onboarding_funnel',
  'get_website_states',
  'get_traffic_visitors',
  'get_traffic_channels',
  'get_traffic_geography',
  'get_traffic_technology',
  'get_insights',
]);
