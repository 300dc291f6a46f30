import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button, type ButtonProps } from './button.tsx';
import { ConfirmDialog, type ConfirmProps } from './dialog.tsx';
import { toast } from './toasts.tsx';
import { useAction } from './use-action.ts';

/** Does it and says in a toast what it resolves to, or why it failed. */
export async function withToast(work: () => Promise<unknown>): Promise<void> {
  try {
    const said = await work();
    if (typeof said === 'string') toast(said);
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error));
  }
}

interface ActionButtonProps extends Omit<ButtonProps, 'onClick'> {
  /** What is said once it is done, if anything. */
  readonly run: () => Promise<unknown>;
}

/** A button that is busy as long as its work is under way. A toast says how that ended. */
export function ActionButton({ run, ...button }: ActionButtonProps) {
  const action = useAction();
  return <Button {...button} busy={action.busy} onClick={() => void action.run(() => withToast(run))} />;
}

interface AskButtonProps extends Pick<ButtonProps, 'text' | 'icon' | 'look'> {
  readonly ask: Omit<ConfirmProps, 'children' | 'onClose'>;
  /** Names what will be lost. */
  readonly children: ComponentChildren;
}

/** A button whose work is asked about first. */
export function AskButton({ ask, children, ...button }: AskButtonProps) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setAsks(true)} />
      {asks && (
        <ConfirmDialog {...ask} onClose={() => setAsks(false)}>
          {children}
        </ConfirmDialog>
      )}
    </>
  );
}
