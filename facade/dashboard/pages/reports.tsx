import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'report',
  many: 'reports',
  path: '/reports',
  words: { one: 'report', many: 'reports' },
  title: 'name',
  subtitle: 'description',
  empty: 'A report is a saved question to any tool that reads.',
});
