import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage('goal', {
  subtitle: 'description',
  empty: 'A goal says what a project is to reach.',
});
