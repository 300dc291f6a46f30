import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'goal',
  many: 'goals',
  path: '/goals',
  words: { one: 'goal', many: 'goals' },
  title: 'title',
  subtitle: 'description',
  empty: 'A goal says what a project is to reach.',
});
