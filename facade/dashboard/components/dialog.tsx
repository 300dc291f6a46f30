import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { text } from '../text.ts';
import { Button } from './button.tsx';
import { CopyButton } from './code.tsx';
import { ErrorBox } from './error-box.tsx';
import { useModal } from './modal.ts';
import { useAction } from './use-action.ts';

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly size?: 's' | 'm' | 'l';
  /** False: only its own buttons close it, because what it shows is not shown again. */
  readonly escapes?: boolean;
}

/** A native modal dialog: focus stays in it, Escape closes it. Shown as long as it is drawn. */
export function Dialog({ title, children, onClose, size = 's', escapes = true }: DialogProps) {
  const id = useId();
  const ref = useModal();
  return (
    <dialog
      ref={ref}
      class={`dialog ${size}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (escapes) onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        {escapes && <Button look="quiet" icon="close" label={text.close} onClick={onClose} />}
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

export interface ConfirmProps {
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

/** A secret that is shown once. It stays until the person says that they have it. */
export function SecretOnce({
  title,
  secret,
  children,
  onClose,
}: {
  readonly title: string;
  readonly secret: string;
  readonly children?: ComponentChildren;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose} size="m" escapes={false}>
      <p>Copy it now. It is not shown again.</p>
      <div class="secret">
        <code class="mono">{secret}</code>
        <CopyButton value={secret} words />
      </div>
      {children}
      <div class="actions end">
        <Button text="I have it" look="primary" onClick={onClose} />
      </div>
    </Dialog>
  );
}
