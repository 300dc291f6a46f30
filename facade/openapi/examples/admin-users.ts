import type { Examples } from './example.ts';

const id = 'usr_06d3ja9x5r8p2c7v0b4m6n1k3j';

const user = {
  id,
  email: 'ada@acme.example',
  name: 'Ada Acme',
  role: 'admin',
  isActive: true,
  createdAt: '2026-03-01T08:00:00.000Z',
  updatedAt: '2026-03-01T08:00:00.000Z',
  revision: 1,
};

const deactivated = { ...user, isActive: false, updatedAt: '2026-03-05T17:00:00.000Z', revision: 2 };

export const adminUserExamples: Examples = {
  list_admin_users: { input: { isActive: true, limit: 20 }, answer: { data: [user], nextCursor: null } },
  get_admin_user: { input: { id }, answer: user },
  create_admin_user: { input: { email: 'ada@acme.example', name: 'Ada Acme', role: 'admin' }, answer: user },
  deactivate_admin_user: { input: { id }, answer: deactivated },
  reactivate_admin_user: {
    input: { id },
    answer: { ...user, updatedAt: '2026-03-06T09:00:00.000Z', revision: 3 },
  },
};
