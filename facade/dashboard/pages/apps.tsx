import { useMay, usePlace } from '../app.ts';
import { Tabs } from '../ui.ts';
import { AppPane } from './apps/app-pane.tsx';
import { Clients } from './apps/clients.tsx';
import { Connections } from './apps/connections.tsx';

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
