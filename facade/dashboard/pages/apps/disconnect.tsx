import { useState } from 'preact/hooks';
import { act, Button, ConfirmDialog } from '../../commons.ts';
import type { App } from './app.tsx';

type DisconnectProps = Readonly<{ app: App; onDone?: () => void }>;

/** Ends the connection of an app, after a question. */
export function Disconnect({ app, onDone }: DisconnectProps) {
  const [asks, setAsks] = useState(false);
  const run = async () => {
    await act('disconnect_app', { id: app.id });
    onDone?.();
  };
  return (
    <>
      <Button text="Disconnect" onClick={() => setAsks(true)} />
      {asks && (
        <ConfirmDialog
          title={`Disconnect ${app.client.name}?`}
          action="Disconnect"
          run={run}
          onClose={() => setAsks(false)}
        >
          <p>Its tokens and whatever it has under way stop at once. It can ask to be connected again.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
