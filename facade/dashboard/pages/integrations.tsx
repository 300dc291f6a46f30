import { act, useMay } from '../app.ts';
import { Badge } from '../components/small.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { ActionButton } from '../ui.ts';
import { Connection, statusOf } from './integrations/connection.tsx';
import { Listing } from './integrations/listing.tsx';

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

/** Looks at the other server again, and connects an account where it wants one. */
export function IntegrationActions({ row }: { readonly row: Row }) {
  const mayRefresh = useMay('refresh_integration');
  const mayConnect = useMay('connect_integration');
  const wants = typeof row.auth === 'string' && row.auth.startsWith('oauth');
  const connect = async () => location.assign(String((await act<Row>('connect_integration', { id: row.id })).url));
  return (
    <>
      {wants && mayConnect && <ActionButton text="Connect account" icon="link" run={connect} />}
      {mayRefresh && row.enabled !== false && (
        <ActionButton text="Refresh" icon="refresh" run={() => act('refresh_integration', { id: row.id })} />
      )}
    </>
  );
}
