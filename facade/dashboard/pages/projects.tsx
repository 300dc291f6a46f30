import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'project',
  many: 'projects',
  path: '/projects',
  words: { one: 'project', many: 'projects' },
  title: 'name',
  subtitle: 'description',
  versions: 'project',
  empty: 'A project holds goals, tasks and documents together.',
});
