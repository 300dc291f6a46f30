import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage('skill', {
  subtitle: 'description',
  versions: 'skill',
  empty: 'A skill is a text that agents follow when a task calls for it.',
  blocks: ['instructions'],
  prose: ['instructions'],
});
