import { Code, Empty, ErrorBox, Skeleton, Table, Time, useMay, usePages } from '../../commons.ts';
import { unifiedEndpoint } from '../keys/endpoint.ts';
import { type App, AppHost, For, May } from './app.tsx';
import { Disconnect } from './disconnect.tsx';

/** Who was let in, with what, and how to end it. */
export function Connections() {
  const { rows, loading, error, more } = usePages<App>('list_connected_apps', { limit: 100 });
  const mayEnd = useMay('disconnect_app');
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0) return loading ? <Skeleton lines={4} /> : <NoApps />;
  const end = { id: 'end', title: '', end: true, cell: (app: App) => <Disconnect app={app} /> };
  return (
    <Table
      label="Connected apps"
      columns={mayEnd ? [...COLUMNS, end] : COLUMNS}
      rows={rows}
      keyOf={({ id }) => id}
      to={({ id }) => `/apps/${encodeURIComponent(id)}`}
      onMore={more}
      loading={loading}
    />
  );
}

const COLUMNS = [
  {
    id: 'client',
    title: 'App',
    cell: ({ client }: App) => (
      <>
        <strong>{client.name}</strong> <AppHost client={client} />
      </>
    ),
  },
  { id: 'may', title: 'May', cell: (app: App) => <May {...app} />, spare: 1 as const },
  { id: 'for', title: 'For', cell: (app: App) => <For {...app} />, spare: 2 as const },
  { id: 'used', title: 'Used', cell: ({ lastUsedAt }: App) => <Time at={lastUsedAt} />, end: true, spare: 2 as const },
  { id: 'since', title: 'Since', cell: ({ createdAt }: App) => <Time at={createdAt} />, end: true, spare: 3 as const },
];

function NoApps() {
  return (
    <Empty
      title="No app is connected yet"
      action={
        <div class="empty-connect">
          <Code value={unifiedEndpoint()} label="Address" />
        </div>
      }
    >
      Paste the address into Claude, ChatGPT or another client, sign in here, and say what it may do.
    </Empty>
  );
}
