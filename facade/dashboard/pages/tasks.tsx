import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'task',
  many: 'tasks',
  path: '/tasks',
  words: { one: 'task', many: 'tasks' },
  title: 'title',
  empty: 'Work for people and agents.',
});
