import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'database',
  many: 'databases',
  path: '/databases',
  words: { one: 'database', many: 'databases' },
  title: 'name',
  subtitle: 'description',
  empty: 'A database is a table with columns of your choice.',
});
