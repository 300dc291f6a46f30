import { act } from '../../app.ts';
import { AskButton } from '../../ui.ts';
import type { App } from './app.tsx';

type DisconnectProps = Readonly<{ app: App; onDone?: () => void }>;

/** Ends the connection of an app, after a question. */
export function Disconnect({ app, onDone }: DisconnectProps) {
  const run = async () => {
    await act('disconnect_app', { id: app.id });
    onDone?.();
  };
  return (
    <AskButton text="Disconnect" ask={{ title: `Disconnect ${app.client.name}?`, action: 'Disconnect', run }}>
      <p>Its tokens and whatever it has under way stop at once. It can ask to be connected again.</p>
    </AskButton>
  );
}
