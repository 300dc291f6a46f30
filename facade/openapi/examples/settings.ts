import type { Examples } from './example.ts';

const config = {
  systemPrompt: 'You are the assistant of Acme.\n\nAsk before you change anything.',
  promptConfigVersion: 3,
  promptSections: { role: 'You are the assistant of Acme.', rules: 'Ask before you change anything.' },
  defaultModel: 'offline/rehearsal',
  maxTokens: 4096,
  createdAt: '2026-03-01T08:00:00.000Z',
  updatedAt: '2026-03-02T10:00:00.000Z',
  revision: 4,
};

const settings = {
  workspaceName: 'Acme',
  timezone: 'Europe/Berlin',
  currency: 'EUR',
  exchangeRates: [{ month: '2026-03', currency: 'USD', rate: 0.92 }],
  defaultAgentId: 'agt_06d3jb1c0wst3b8x7s7w9q2e4r',
  analytics: {
    features: { publishing: ['site_published'] },
    funnel: ['signed_up', 'site_created', 'site_published'],
    activityEvents: 'all',
  },
  signInDomains: ['acme.example'],
  retentionDays: { audit: 365 },
  createdAt: '2026-03-01T08:00:00.000Z',
  updatedAt: '2026-03-02T10:05:00.000Z',
  revision: 2,
};

export const settingsExamples: Examples = {
  get_bot_config: { answer: config },
  update_bot_config: {
    input: { promptSections: config.promptSections, maxTokens: 4096, expectedRevision: 3 },
    answer: config,
  },
  get_settings: { answer: settings },
  update_settings: {
    input: { timezone: 'Europe/Berlin', currency: 'EUR', exchangeRates: settings.exchangeRates, expectedRevision: 1 },
    answer: settings,
  },
};
