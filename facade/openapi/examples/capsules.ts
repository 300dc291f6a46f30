import type { Examples } from './example.ts';

const id = 'cap_06d3jd1m4p7s0v3y6b9e2h5k8n';

const capsule = {
  id,
  name: 'Support desk',
  description: 'What the assistant of the support desk may do.',
  allowedTools: ['list_agents', 'search_memories', '*_task'],
  deniedTools: ['delete_*'],
  status: 'live',
  callsPerMinute: 120,
  constraints: { list_agents: { status: 'active' } },
  tokenPrefix: 'Rb7Xw2Qe',
  tokenRotatedAt: '2026-03-04T10:00:00.000Z',
  ownerId: 'usr_06d3ja9x5r8p2c7v0b4m6n1k3j',
  createdBy: 'key_06d3ja9z1t4w7y0b3e6h9k2n5q',
  callCount: 0,
  createdAt: '2026-03-04T10:00:00.000Z',
  updatedAt: '2026-03-04T10:00:00.000Z',
  revision: 1,
};

const { name, description, allowedTools, deniedTools, status, callsPerMinute, constraints } = capsule;
const used = { ...capsule, callCount: 42, lastUsedAt: '2026-03-05T08:15:00.000Z' };
const disabled = { ...used, status: 'disabled', updatedAt: '2026-03-05T09:00:00.000Z', revision: 2 };

export const capsuleExamples: Examples = {
  list_capsules: { input: { status: 'live', limit: 20 }, answer: { data: [used], nextCursor: null } },
  create_capsule: {
    input: { name, description, allowedTools, deniedTools, status, callsPerMinute, constraints },
    answer: { ...capsule, token: 'cpt_Rb7Xw2Qe_0mWk5sT9bV3nQ7xL1cR8dJ4fH6gP2yZ5aE0uN3iK' },
  },
  get_capsule: { input: { id }, answer: used },
  update_capsule: { input: { id, status: 'disabled', expectedRevision: 1 }, answer: disabled },
  delete_capsule: { input: { id } },
  rotate_capsule_token: {
    input: { id, graceSeconds: 3600 },
    answer: {
      ...used,
      tokenPrefix: 'h4Kd9ZsM',
      tokenRotatedAt: '2026-03-06T12:00:00.000Z',
      updatedAt: '2026-03-06T12:00:00.000Z',
      revision: 2,
      token: 'cpt_h4Kd9ZsM_7pLq1vB8nX3wC6rT0yJ5kD9sF2gH4mZ8aQ1eU6iO',
    },
  },
};
