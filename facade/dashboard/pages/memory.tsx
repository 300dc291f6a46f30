import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage('memory', {
  versions: 'memory',
  isFoundRanked: true,
  fields: {
    content: {
      label: 'What to remember',
      hint: 'One thing in plain words, like: Invoices go out on the first Monday.',
    },
    kind: {},
    scope: { label: 'Who it is for', hint: 'Of an agent, a thread or a user: which one is asked below.' },
    agentId: {},
    threadId: {},
    userId: {},
    tags: {},
    pinned: {},
    importance: { hint: 'From 0 to 1: what matters more is remembered first.' },
    source: { hint: 'Where it comes from, like a meeting.' },
  },
  makes: {
    title: 'New memory',
    action: 'Create memory',
    intro: 'What agents should know from now on, whenever it matters.',
  },
  advanced: ['importance', 'source', 'expiresAt', 'supersedes'],
  hiddenIn: ({ scope }) => Object.keys(HOLDERS).filter((name) => HOLDERS[name] !== scope),
  empty: 'What agents should remember: facts, preferences, instructions.',
});

/** For whom it is, by the member that names them. */
const HOLDERS: Readonly<Record<string, string>> = { agentId: 'agent', threadId: 'thread', userId: 'user' };
