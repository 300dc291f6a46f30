import { useMay, usePagedList, usePlace } from '../app.ts';
import { Code, type Column, Empty, PagedTable, Tabs, Time } from '../ui.ts';
import { type App, AppHost, Disconnect, For, May } from './apps/app.tsx';
import { AppPane } from './apps/app-pane.tsx';
import { Clients } from './apps/clients.tsx';
import { unifiedEndpoint } from './keys/endpoint.ts';

/** Programs that people let in, and the clients that may ask. */
export function Page() {
  const mayList = useMay('list_oauth_clients');
  const [, open] = usePlace().parts;
  if (open !== undefined) return <AppPane key={open} id={open} />;
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>Connected apps</h1>
      </header>
      <Tabs
        label="Connected apps"
        tabs={[
          { id: 'apps', label: 'Connected', content: () => <Connections /> },
          ...(mayList ? [{ id: 'clients', label: 'Clients', content: () => <Clients /> }] : []),
        ]}
      />
    </div>
  );
}

/** Who was let in, with what, and how to end it. */
export function Connections() {
  const pages = usePagedList<App>('list_connected_apps', { limit: 100 });
  const mayEnd = useMay('disconnect_app');
  const end = { title: '', end: true, cell: (app: App) => <Disconnect app={app} /> };
  return (
    <PagedTable
      label="Connected apps"
      columns={mayEnd ? [...COLUMNS, end] : COLUMNS}
      pages={pages}
      to={({ id }) => `/apps/${encodeURIComponent(id)}`}
      none={<NoApps />}
    />
  );
}

const COLUMNS: readonly Column<App>[] = [
  {
    title: 'App',
    cell: ({ client }) => (
      <>
        <strong>{client.name}</strong> <AppHost client={client} />
      </>
    ),
  },
  { title: 'May', cell: (app) => <May {...app} />, spare: 1 },
  { title: 'For', cell: (app) => <For {...app} />, spare: 2 },
  { title: 'Used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, end: true, spare: 2 },
  { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} />, end: true, spare: 3 },
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
