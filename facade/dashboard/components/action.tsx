import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../answer-cache.ts';
import { text } from '../text.ts';
import { useMay } from '../tools.ts';
import { Button, type ButtonProps } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorBox } from './error-box.tsx';
import { toast } from './toasts.tsx';

/** Does it and says in a toast what it resolves to, or why it failed. */
export async function withToast(work: () => Promise<unknown>): Promise<void> {
  try {
    const said = await work();
    if (typeof said === 'string') toast(said);
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), true);
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

interface AskButtonProps extends Pick<ButtonProps, 'text' | 'icon' | 'look' | 'needs'> {
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

interface ConfirmProps {
  readonly title: string;
  /** Names what will be lost. */
  readonly children: ComponentChildren;
  readonly action: string;
  /** Default: that of something that is lost. */
  readonly look?: 'primary' | 'alarm';
  /** What has to be typed where nothing brings it back. */
  readonly typed?: string | undefined;
  readonly run: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before something is lost, and shows why it failed if it did. Closes when it is done. */
export function ConfirmDialog({ title, children, action, look = 'alarm', typed, run, onClose }: ConfirmProps) {
  const [given, setGiven] = useState('');
  const { busy, error, run: attempt } = useAction();
  const isReady = typed === undefined || given === typed;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady || busy) return;
    if (await attempt(run)) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="confirm" onSubmit={submit}>
        <div class="confirm-text">{children}</div>
        {typed !== undefined && (
          <label class="field">
            <span class="label">
              Type <strong>{typed}</strong> to go on
            </span>
            <input
              class="input"
              value={given}
              autocomplete="off"
              onInput={(event) => setGiven(event.currentTarget.value)}
            />
          </label>
        )}
        {error !== undefined && <ErrorBox error={error} />}
        <div class="actions end">
          <Button text={text.cancel} onClick={onClose} />
          {/* No submit button: inside a host (MCP Apps) forms submit nothing. */}
          <Button text={action} look={look} busy={busy} disabled={!isReady} onClick={submit} />
        </div>
      </form>
    </Dialog>
  );
}

/** One piece of work at a time: whether it is under way, and why the last one failed. */
interface Action {
  readonly busy: boolean;
  readonly error: unknown;
  /** Resolves to whether it was done. `onError` is told why not. */
  run(work: () => unknown, onError?: (problem: unknown) => void): Promise<boolean>;
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run: Action['run'] = async (work, onError) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (problem) {
      setError(problem);
      onError?.(problem);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run };
}

interface CancelRunProps {
  readonly tool: 'cancel_agent_run' | 'cancel_flow_run';
  readonly id: string;
  /** Says what cannot be undone. */
  readonly children: ComponentChildren;
}

/** Ends a run, once asked whether it should. Nothing for people who may not. */
export function CancelRun({ tool, id, children }: CancelRunProps) {
  const may = useMay(tool);
  if (!may) return null;
  const ask = { title: 'Cancel this run?', action: 'Cancel run', run: () => act(tool, { id }) };
  return (
    <AskButton text="Cancel" icon="stop" ask={ask}>
      <p>{children}</p>
    </AskButton>
  );
}
