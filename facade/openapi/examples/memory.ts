import type { Examples } from './example.ts';

const given = {
  content: 'Anna wants invoices in English.',
  kind: 'preference',
  scope: 'user',
  userId: 'u-1001',
  tags: ['billing'],
  importance: 0.7,
  source: 'Conversation of 2 March',
};

const memory = {
  id: 'mem_06d3jb0q9gvy5m2k1n4h8t6z3c',
  ...given,
  pinned: false,
  superseded: false,
  createdAt: '2026-03-02T09:10:00.000Z',
  updatedAt: '2026-03-02T09:10:00.000Z',
  revision: 1,
};

export const memoryExamples: Examples = {
  list_memories: {
    input: { q: 'invoices', tag: 'billing', limit: 20 },
    answer: { data: [{ ...memory, score: 0.52 }], nextCursor: null },
  },
  create_memory: {
    input: given,
    answer: memory,
  },
};
