import { getInsights } from './insights.ts';
import { getOverview } from './overview.ts';
import { getActiveUsers } from './product/active-users.ts';
import { getFeatureAdoption } from './product/feature-adoption.ts';
import { getOnboardingFunnel } from './product/onboarding-funnel.ts';
import { getCohortRetention } from './product/user-retention.ts';
import { getWebsiteStates } from './product/website-states.ts';
import { getChurn, getLtv, getMrr, getSubscriptions } from './revenue/revenue.ts';
import {
  getTrafficChannels,
  getTrafficGeography,
  getTrafficTechnology,
  getTrafficVisitors,
} from './traffic/traffic.ts';

export const analyticsTools = [
  getInsights,
  getOverview,
  getActiveUsers,
  getCohortRetention,
  getFeatureAdoption,
  getOnboardingFunnel,
  getWebsiteStates,
  getChurn,
  getLtv,
  getMrr,
  getSubscriptions,
  getTrafficChannels,
  getTrafficGeography,
  getTrafficTechnology,
  getTrafficVisitors,
];
