import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'capsule',
  many: 'capsules',
  path: '/capsules',
  words: { one: 'capsule', many: 'capsules' },
  title: 'name',
  subtitle: 'description',
  empty: 'A capsule is an MCP endpoint of its own with the tools that you pick.',
});
