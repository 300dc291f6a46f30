import { kindPage } from '../kind/kind-page.tsx';

export const Page = kindPage({
  one: 'integration',
  many: 'integrations',
  path: '/integrations',
  words: { one: 'integration', many: 'integrations' },
  title: 'name',
  empty: 'An integration is another MCP server, whose tools are then offered here.',
});
