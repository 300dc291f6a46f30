import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'flow',
  many: 'flows',
  path: '/flows',
  words: { one: 'flow', many: 'flows' },
  title: 'name',
  subtitle: 'description',
  versions: 'flow',
  empty: 'A flow calls tools one after the other, by hand, by schedule, by webhook or by event.',
  blocks: ['prompt'],
});
