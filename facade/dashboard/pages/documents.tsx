import { kindPage } from '../kind/kind-page.tsx';
import { Content } from './documents/content.tsx';

export const Page = kindPage('document', {
  versions: 'document',
  empty: 'Texts that agents and people read and change together.',
  blocks: ['content'],
  without: ['content'],
  below: Content,
});
