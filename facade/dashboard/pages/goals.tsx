import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage('goal', {
  subtitle: 'description',
  fields: {
    title: { hint: 'What is reached then, like: 100 paying customers.' },
    description: {},
    projectId: {},
    targetDate: { label: 'By' },
    progress: { hint: 'From 0, nothing yet, to 1, reached.' },
    status: {},
  },
  empty: 'A goal says what a project is to reach.',
});
