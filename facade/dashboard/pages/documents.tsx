import { kindPage } from '../kind/kind-page.tsx';
import { Content } from './documents/content.tsx';
import { FoundByMeaning } from './documents/found-by-meaning.tsx';
import { UploadFiles } from './documents/upload.tsx';

export const Page = kindPage('document', {
  versions: 'document',
  fields: {
    title: { hint: '' },
    content: { label: 'Text', hint: 'With the marks of Markdown: # begins a heading, - an item of a list.' },
    projectId: { label: 'Project', hint: 'Who sees the project sees the document.' },
    tags: { hint: 'Words by which it is found, and given to agents.' },
  },
  makes: {
    title: 'New document',
    action: 'Create document',
    intro: 'A text that people and agents read, search and change. To bring a file, use Upload files.',
  },
  empty: 'Texts that agents and people read and change together. Write one, or drop files here.',
  blocks: ['content'],
  without: ['content'],
  below: Content,
  hidden: ['file'],
  headControls: UploadFiles,
  headNote: FoundByMeaning,
});
