import type { Examples } from './example.ts';

export const searchExamples: Examples = {
  search: {
    input: { q: 'triage', types: ['agent', 'skill'], limit: 20 },
    answer: {
      data: [
        {
          type: 'skill',
          id: 'skl_06d3jb0q9gvy5m2k1n4h8t6z3c',
          title: 'Triage',
          snippet: 'Sorts incoming messages.',
          score: 1,
          updatedAt: '2026-03-02T09:10:00.000Z',
        },
      ],
      nextCursor: null,
      facets: { skill: 1 },
    },
  },
};
