import { Badge } from '../components/small.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { IntegrationActions } from './integrations/actions.tsx';
import { Connection } from './integrations/connection.tsx';
import { Listing } from './integrations/listing.tsx';
import { statusOf } from './integrations/status.ts';

export const Page = kindPage('integration', {
  empty: 'An integration is another MCP server, whose tools are then offered here under the same rights and audit.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge {...statusOf(row)} />, width: '9rem' },
    { title: 'Tools', cell: (row: Row) => String(row.toolCount ?? ''), end: true, spare: 2 },
    {
      title: 'To approve',
      cell: (row: Row) => (row.heldCount ? <Badge tone="warn">{String(row.heldCount)}</Badge> : ''),
      end: true,
      spare: 1,
    },
  ],
  without: ['status', 'tools', 'prompts', 'resources', 'listingHash', 'createdBy', 'enabled'],
  actions: IntegrationActions,
  above: Connection,
  tabs: (row) => [{ id: 'tools', label: 'Tools', content: () => <Listing row={row} /> }],
  loss: () => 'Its tools are gone at once, for agents, flows and capsules too, and its secrets are deleted.',
});
