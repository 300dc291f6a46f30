import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'document',
  many: 'documents',
  path: '/documents',
  words: { one: 'document', many: 'documents' },
  title: 'title',
  versions: 'document',
  empty: 'Texts that agents and people read and change together.',
  blocks: ['content'],
  prose: ['content'],
});
