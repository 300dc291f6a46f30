import { useMay, usePages } from '../../app.ts';
import { Code, type Column, Empty, PagedTable, Time } from '../../ui.ts';
import { unifiedEndpoint } from '../keys/endpoint.ts';
import { type App, AppHost, For, May } from './app.tsx';
import { Disconnect } from './disconnect.tsx';

/** Who was let in, with what, and how to end it. */
export function Connections() {
  const pages = usePages<App>('list_connected_apps', { limit: 100 });
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
