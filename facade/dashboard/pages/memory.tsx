import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage('memory', {
  versions: 'memory',
  empty: 'What agents should remember: facts, preferences, instructions.',
});
