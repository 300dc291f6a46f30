import type { FormWords } from '../../components/form/words.ts';

/** A tab of the settings: what it asks for, in this order, and how it calls it. */
export interface SettingsSection {
  readonly id: string;
  readonly label: string;
  readonly words: FormWords;
}

export const SECTIONS: readonly SettingsSection[] = [
  {
    id: 'workspace',
    label: 'Workspace',
    words: {
      workspaceName: { label: 'Name', hint: 'Shown at the top of every page.' },
      timezone: {
        label: 'Time zone',
        hint: 'Days of metrics and times of schedules are counted in it. Example: Europe/Berlin.',
      },
      defaultAgentId: { label: 'Default agent', hint: 'Used when no other agent is chosen.' },
      featureSwitches: {
        label: 'Feature switches',
        hint: 'On or off, for the programs that read them here. This server reads none.',
      },
    },
  },
  {
    id: 'money',
    label: 'Currency and prices',
    words: {
      currency: { label: 'Currency', hint: 'Metrics and costs are shown in it. Three letters: EUR, USD.' },
      exchangeRates: {
        label: 'Exchange rates',
        hint: 'Without the rate of a month, amounts in another currency are left out, and the page says so.',
      },
      prices: {
        label: 'Prices of models',
        hint: 'For a million tokens, from a date on. Tokens without a price cost an unknown amount. Prices of a provider that you added stand with it, under Models.',
      },
      'prices.model': { hint: '' },
      'prices.from': { label: 'Valid from', hint: '' },
      'prices.input': { hint: '' },
      'prices.output': { hint: '' },
      'prices.cacheRead': { label: 'Cached input', hint: 'Default: as input.' },
      'prices.cacheWrite': { label: 'Cache write', hint: 'Default: as input.' },
      'prices.reasoning': { hint: 'Default: as output.' },
    },
  },
  {
    id: 'analytics',
    label: 'Analytics',
    words: {
      analytics: { label: 'What events mean', hint: 'Names of events as your product sends them.' },
      'analytics.features': { label: 'Features', hint: 'A feature counts as used when one of its events arrives.' },
      'analytics.funnel': { label: 'Steps of the onboarding funnel', hint: 'In the order in which users take them.' },
      'analytics.activityEvents': {
        label: 'Events of active users',
        hint: 'A user with one of them that day is active.',
      },
    },
  },
  {
    id: 'access',
    label: 'Access and approvals',
    words: {
      signInDomains: {
        label: 'Sign-in only from',
        hint: 'Domains of email addresses, such as example.com. Empty: every admin user.',
      },
      approvalHours: { label: 'Approvals expire after (hours)', hint: 'Default: 24 hours.' },
      mailAskFirst: { label: 'A person approves each mail that agents, flows and keys send', hint: '' },
      mailRecipients: { label: 'Who may receive mail', hint: 'Besides admin users.' },
    },
  },
  {
    id: 'retention',
    label: 'Retention',
    words: {
      retentionDays: { label: 'Retention (days)', hint: 'Applied once a day.' },
      'retentionDays.audit': { label: 'Audit entries', hint: '' },
      'retentionDays.runs': { label: 'Finished runs', hint: 'Default: 30 days.' },
      'retentionDays.threads': { label: 'Threads without a new message', hint: 'Default: never.' },
      'retentionDays.approvals': { label: 'Approvals that are done', hint: 'Default: 90 days.' },
      'retentionDays.usage': { label: 'Usage by the hour', hint: 'Default: 730 days.' },
    },
  },
];
