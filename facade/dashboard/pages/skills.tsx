import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'skill',
  many: 'skills',
  path: '/skills',
  words: { one: 'skill', many: 'skills' },
  title: 'name',
  subtitle: 'description',
  versions: 'skill',
  empty: 'A skill is a text that agents follow when a task calls for it.',
  blocks: ['instructions'],
  prose: ['instructions'],
});
