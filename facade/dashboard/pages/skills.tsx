import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage('skill', {
  subtitle: 'description',
  versions: 'skill',
  fields: {
    displayName: { hint: 'As people see it, like Release notes.' },
    name: { hint: 'As agents name it, like release-notes.' },
    description: { hint: 'When an agent should follow it, in a sentence.' },
    instructions: { hint: 'What to do, step by step. Markdown.' },
  },
  empty: 'A skill is a text that agents follow when a task calls for it.',
  blocks: ['instructions'],
  prose: ['instructions'],
});
