import { kindPage } from '../kind/kind-page.tsx';
import { Content } from './documents/content.tsx';
import { FoundByMeaning } from './documents/found-by-meaning.tsx';
import { UploadFiles } from './documents/upload.tsx';

export const Page = kindPage('document', {
  versions: 'document',
  empty: 'Texts that agents and people read and change together. Write one, or drop files here.',
  blocks: ['content'],
  without: ['content'],
  below: Content,
  hidden: ['file'],
  headControls: UploadFiles,
  headNote: FoundByMeaning,
});
