import type { Examples } from './example.ts';

const id = 'agt_06d3jb1c0wst3b8x7s7w9q2e4r';

const agent = {
  id,
  name: 'support',
  displayName: 'Sam from Support',
  description: 'Answers customer questions and files bugs.',
  modelPreference: 'offline/rehearsal',
  status: 'active',
  instructions: 'Be brief. Ask before you promise anything.',
  tools: ['list_*', 'get_*', 'create_task'],
  skillIds: ['skl_06d3jb0q9gvy5m2k1n4h8t6z3c'],
  maxSteps: 10,
  memoryPolicy: { remember: true, maxInjected: 20 },
  identity: {
    displayName: 'Sam',
    signature: 'Sam, Acme Support',
    socials: [{ platform: 'mastodon', url: 'https://social.acme.example/@sam' }],
    email: { alias: 'sam' },
    phone: { enabled: true, number: '•••', provider: 'telephony-provider', a2pStatus: 'registered' },
    card: { enabled: true, railId: 'card-rail-a', cardRef: '•••', spendLimitUsd: 200 },
  },
  createdAt: '2026-03-02T09:15:00.000Z',
  updatedAt: '2026-03-02T09:15:00.000Z',
  revision: 1,
};

const updatedAt = '2026-03-04T16:40:12.000Z';

export const agentExamples: Examples = {
  list_agents: {
    input: { status: 'active', limit: 20 },
    answer: { data: [agent], nextCursor: null },
  },
  get_agent: { input: { id }, answer: agent },
  create_agent: {
    input: {
      name: 'support',
      displayName: 'Sam from Support',
      description: 'Answers customer questions and files bugs.',
      modelPreference: 'offline/rehearsal',
      instructions: 'Be brief. Ask before you promise anything.',
      tools: ['list_*', 'get_*', 'create_task'],
      memoryPolicy: { remember: true, maxInjected: 20 },
      identity: {
        displayName: 'Sam',
        email: { alias: 'sam' },
        phone: { enabled: true, provider: 'telephony-provider' },
        card: { enabled: true, railId: 'card-rail-a', spendLimitUsd: 200 },
      },
    },
    answer: agent,
  },
  update_agent: {
    input: { id, status: 'paused', identity: { bio: 'With Acme since 2026.' }, expectedRevision: 1 },
    answer: {
      ...agent,
      status: 'paused',
      identity: { ...agent.identity, bio: 'With Acme since 2026.' },
      updatedAt,
      revision: 2,
    },
  },
  delete_agent: {
    input: { id, expectedRevision: 1 },
    answer: { ...agent, status: 'deleted', updatedAt, revision: 2 },
  },
  list_models: {
    answer: {
      data: [
        {
          id: 'offline/rehearsal',
          provider: 'offline',
          name: 'rehearsal',
          description: 'Built in, deterministic, without network.',
          available: true,
          capabilities: { tools: true, streaming: true, structuredOutput: false },
        },
      ],
      nextCursor: null,
    },
  },
  list_tool_categories: {
    answer: {
      data: [
        {
          category: 'Agents',
          tools: [{ name: 'list_agents', title: 'List agents', description: 'List agents, newest first.' }],
        },
      ],
      nextCursor: null,
    },
  },
  get_system_health: {
    answer: {
      overallStatus: 'ok',
      integrations: [{ name: 'store', kind: 'lowdb', status: 'ok', latencyMs: 0.4 }],
    },
  },
};
