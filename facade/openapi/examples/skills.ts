import type { Examples } from './example.ts';

const id = 'skl_06d3jb0q9gvy5m2k1n4h8t6z3c';

const skill = {
  id,
  name: 'triage',
  displayName: 'Triage',
  description: 'Sorts incoming messages.',
  instructions: 'Read the message. Answer with one of: billing, bug, question.',
  createdAt: '2026-03-02T09:10:00.000Z',
  updatedAt: '2026-03-02T09:10:00.000Z',
  revision: 1,
};

export const skillExamples: Examples = {
  list_skills: { input: { limit: 20 }, answer: { data: [skill], nextCursor: null } },
  get_skill: { input: { id }, answer: skill },
  create_skill: {
    input: {
      name: 'triage',
      displayName: 'Triage',
      description: 'Sorts incoming messages.',
      instructions: 'Read the message. Answer with one of: billing, bug, question.',
    },
    answer: skill,
  },
  update_skill: {
    input: {
      id,
      instructions: 'Read the message. Answer with one of: billing, bug, question, other.',
      expectedRevision: 1,
    },
    answer: {
      ...skill,
      instructions: 'Read the message. Answer with one of: billing, bug, question, other.',
      updatedAt: '2026-03-03T11:05:30.000Z',
      revision: 2,
    },
  },
  delete_skill: { input: { id } },
};
