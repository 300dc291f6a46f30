import { act, wordOf } from '../../app.ts';
import { AskButton, Badge, Ref } from '../../ui.ts';

/** As `list_connected_apps` answers it. */
export interface App {
  readonly id: string;
  readonly client: { readonly name: string; readonly host: string; readonly verified: boolean };
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly userId?: string;
  readonly capsuleId?: string;
  readonly createdAt: string;
  readonly lastUsedAt?: string;
}

/** Where it comes from, and whether that is proven. */
export function AppHost({ client: { host, verified } }: Pick<App, 'client'>) {
  return <Badge tone={verified ? 'good' : 'warn'}>{verified ? host : `${host}, unverified`}</Badge>;
}

/** What it was let in to. */
export function May({ capsuleId, scopes }: App) {
  return <>{capsuleId === undefined ? scopes.map(wordOf).join(', ') : <Ref id={capsuleId} />}</>;
}

/** For whom it acts. */
export function For({ userId }: App) {
  return <>{userId === undefined ? 'A holder of the token' : <Ref id={userId} />}</>;
}

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
