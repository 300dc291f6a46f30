import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'thread',
  many: 'threads',
  path: '/chat',
  words: { one: 'thread', many: 'threads' },
  title: 'title',
  empty: 'A thread is a conversation with an agent.',
});
