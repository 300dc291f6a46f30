import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Connect } from '../../components/connect/connect.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorBox } from '../../components/error-box.tsx';
import { Badge, Empty, Time } from '../../components/small.tsx';
import { Table } from '../../components/table.tsx';
import { Ref } from '../../components/value.tsx';
import { Skeleton } from '../../components/waiting.tsx';
import { wordOf } from '../../format.ts';
import { usePages } from '../../pages-of.ts';
import { act } from '../../store.ts';
import { useMay } from '../../tools.ts';
import { unifiedEndpoint } from '../keys/endpoint.ts';

interface App {
  readonly id: string;
  readonly client: { readonly name: string; readonly host: string; readonly verified: boolean };
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly userId?: string;
  readonly capsuleId?: string;
  readonly createdAt: string;
  readonly lastUsedAt?: string;
}

/** Who was let in, with what, and how to end it. */
export function Connections() {
  const { rows, loading, error, more } = usePages<App>('list_connected_apps', { limit: 100 });
  const [ending, setEnding] = useState<App>();
  const mayEnd = useMay('disconnect_app');
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0) return loading ? <Skeleton lines={4} /> : <NoApps />;
  const end = {
    id: 'end',
    title: '',
    end: true,
    cell: (app: App) => <Button onClick={() => setEnding(app)}>Disconnect</Button>,
  };
  return (
    <>
      <Table
        label="Connected apps"
        columns={mayEnd ? [...COLUMNS, end] : COLUMNS}
        rows={rows}
        keyOf={({ id }) => id}
        onMore={more}
        loading={loading}
      />
      {ending && (
        <ConfirmDialog
          title={`Disconnect ${ending.client.name}?`}
          action="Disconnect"
          run={() => act('disconnect_app', { id: ending.id })}
          onClose={() => setEnding(undefined)}
        >
          <p>Its tokens and whatever it has under way stop at once. It can ask to be connected again.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

const COLUMNS = [
  {
    id: 'client',
    title: 'App',
    cell: ({ client }: App) => (
      <>
        <strong>{client.name}</strong>{' '}
        <Badge tone={client.verified ? 'good' : 'warn'}>
          {client.verified ? client.host : `${client.host}, unverified`}
        </Badge>
      </>
    ),
  },
  {
    id: 'may',
    title: 'May',
    cell: ({ capsuleId, scopes }: App) =>
      capsuleId === undefined ? scopes.map(wordOf).join(', ') : <Ref id={capsuleId} />,
    spare: 1 as const,
  },
  {
    id: 'for',
    title: 'For',
    cell: ({ userId }: App) => (userId === undefined ? 'A holder of the token' : <Ref id={userId} />),
    spare: 2 as const,
  },
  { id: 'used', title: 'Used', cell: ({ lastUsedAt }: App) => <Time at={lastUsedAt} />, end: true, spare: 2 as const },
  { id: 'since', title: 'Since', cell: ({ createdAt }: App) => <Time at={createdAt} />, end: true, spare: 3 as const },
];

function NoApps() {
  return (
    <Empty
      title="No app is connected yet"
      action={
        <div class="empty-connect">
          <Connect name="agent-admin" url={unifiedEndpoint()} token="ak_…" />
        </div>
      }
    >
      Paste the address into Claude, ChatGPT or another client, sign in here, and say what it may do.
    </Empty>
  );
}
