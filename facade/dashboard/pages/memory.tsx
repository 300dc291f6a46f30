import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'memory',
  many: 'memories',
  path: '/memory',
  words: { one: 'memory', many: 'memories' },
  title: 'content',
  versions: 'memory',
  empty: 'What agents should remember: facts, preferences, instructions.',
});
