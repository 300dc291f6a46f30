import { lazy } from '../lazy.tsx';
import { DialogButton } from './dialog-button.tsx';

const WhoCan = lazy(async () => (await import('./who-can.tsx')).WhoCan);

/** Opens the list of all that may call the tool, for people who may see it. */
export function WhoCanButton({ tool }: { readonly tool: string }) {
  return (
    <DialogButton text="Who can do this?" icon="users" needs="list_who_can">
      {(close) => <WhoCan tool={tool} onClose={close} />}
    </DialogButton>
  );
}
