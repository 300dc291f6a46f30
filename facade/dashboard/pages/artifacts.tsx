import { kindPage } from '../kind/kind-page.tsx';
import { Content, DownloadButton } from './artifacts/content.tsx';

export const Page = kindPage('artifact', {
  versions: 'artifact',
  empty: 'Files that agents made: pages, data, pictures.',
  without: ['content', 'data'],
  actions: DownloadButton,
  below: Content,
});
