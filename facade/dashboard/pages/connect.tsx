import { Connector } from '../components/connect/connector.tsx';
import { PageBody } from '../ui.ts';

export function Page() {
  return (
    <PageBody title="Connect a client" width="narrow">
      <p class="quiet">
        Claude, ChatGPT, an editor or your own program calls the tools of this workspace, as you or with less.
      </p>
      <Connector />
    </PageBody>
  );
}
