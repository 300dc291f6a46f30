import { useState } from 'preact/hooks';
import { lazy } from '../lazy.tsx';
import { Button } from './button.tsx';

const WhoCan = lazy(async () => (await import('./who-can.tsx')).WhoCan);

/** Opens the list of all that may call the tool, for people who may see it. */
export function WhoCanButton({ tool }: { readonly tool: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button text="Who can do this?" icon="users" needs="list_who_can" onClick={() => setOpen(true)} />
      {isOpen && <WhoCan tool={tool} onClose={() => setOpen(false)} />}
    </>
  );
}
