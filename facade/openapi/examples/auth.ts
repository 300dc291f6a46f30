import type { Examples } from './example.ts';

const user = {
  id: 'usr_06d3ja9x5r8p2c7v0b4m6n1k3j',
  email: 'ada@acme.example',
  name: 'Ada Acme',
  role: 'admin',
  isActive: true,
  lastSignInAt: '2026-03-05T08:30:00.000Z',
  createdAt: '2026-03-01T08:00:00.000Z',
  updatedAt: '2026-03-01T08:00:00.000Z',
  revision: 1,
};

const expiresAt = '2026-03-05T20:30:00.000Z';

export const authExamples: Examples = {
  create_session: {
    input: { idToken: 'eyJhbGciOiJFUzI1NiIsImtpZCI6Ii4uLiJ9.eyJlbWFpbCI6Ii4uLiJ9.c2lnbmVk' },
    answer: { user, expiresAt },
  },
  get_session: { answer: { type: 'session', user, scopes: ['*'], expiresAt } },
};
