import type { Examples } from './example.ts';

const id = 'thr_06d3jb0q9gvy5m2k1n4h8t6z3c';
const owner = 'usr_06d3jb0q9gvy5m2k1n4h8t6z3a';
const colleague = { type: 'api-key' as const, id: 'key_06d3jb0q9gvy5m2k1n4h8t6z3b' };

const thread = {
  id,
  title: 'Refund for order 1042',
  status: 'active' as const,
  source: 'api',
  visibility: 'workspace' as const,
  messageCount: 2,
  lastMessageAt: '2026-03-02T09:10:00.000Z',
  createdBy: owner,
  createdAt: '2026-03-02T09:10:00.000Z',
  updatedAt: '2026-03-02T09:10:00.000Z',
  revision: 1,
};

const question = {
  id: 'msg_06d3jb0q9gvy5m2k1n4h8t6z3d',
  threadId: id,
  role: 'user' as const,
  content: 'Where is my refund?',
  createdAt: '2026-03-02T09:10:00.000Z',
};
const answer = {
  ...question,
  id: 'msg_06d3jb0q9gvy5m2k1n4h8t6z3e',
  role: 'assistant' as const,
  content: 'It was sent on 1 March.',
};

const owned = {
  principal: { type: 'user' as const, id: owner },
  role: 'owner' as const,
  createdAt: '2026-03-02T09:10:00.000Z',
  grantedBy: owner,
};
const shared = {
  principal: colleague,
  role: 'viewer' as const,
  createdAt: '2026-03-02T10:00:00.000Z',
  grantedBy: owner,
};

const fork = {
  ...thread,
  id: 'thr_06d3jb0q9gvy5m2k1n4h8t6z3f',
  title: 'Refund for order 1042 (fork)',
  messageCount: 1,
  forkedFrom: { threadId: id, messageId: question.id, at: '2026-03-02T11:00:00.000Z', by: owner },
  createdAt: '2026-03-02T11:00:00.000Z',
  updatedAt: '2026-03-02T11:00:00.000Z',
};

export const threadExamples: Examples = {
  list_threads: { input: { status: 'active', limit: 20 }, answer: { data: [thread], nextCursor: null } },
  create_thread: {
    input: {
      title: 'Refund for order 1042',
      messages: [
        { role: 'user', content: question.content },
        { role: 'assistant', content: answer.content },
      ],
    },
    answer: thread,
  },
  get_thread: { input: { id }, answer: thread },
  update_thread: {
    input: { id, status: 'archived' },
    answer: { ...thread, status: 'archived', updatedAt: '2026-03-03T08:00:00.000Z', revision: 2 },
  },
  delete_thread: { input: { id } },
  get_thread_access: { input: { id }, answer: { visibility: 'workspace', entries: [owned], revision: 1 } },
  add_thread_access: {
    input: { id, entries: [{ principal: colleague, role: 'viewer' }] },
    answer: { visibility: 'workspace', entries: [owned, shared], revision: 2 },
  },
  update_thread_access: {
    input: { id, visibility: 'restricted' },
    answer: { visibility: 'restricted', entries: [owned, shared], revision: 3 },
  },
  remove_thread_access: {
    input: { id, principals: [colleague] },
    answer: { visibility: 'restricted', entries: [owned], revision: 4 },
  },
  fork_thread: { input: { id, messageId: question.id }, answer: fork },
  list_messages: { input: { id, limit: 50 }, answer: { data: [answer, question], nextCursor: null } },
  get_thread_stats: {
    answer: {
      asOf: '2026-03-02T12:00:00.000Z',
      timezone: 'UTC',
      threads: 2,
      byStatus: { active: 2, archived: 0 },
      bySource: [{ source: 'api', threads: 2 }],
      messages: 3,
      messagesPerDay: [
        { date: '2026-03-01', messages: 0 },
        { date: '2026-03-02', messages: 3 },
      ],
      averageMessagesPerThread: 1.5,
    },
  },
};
