import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { createSignal } from '../signal.ts';
import { text } from '../text.ts';
import { Button } from './button.tsx';
import { CopyButton } from './code.tsx';

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

type SecretOnceProps = Readonly<{ title: string; secret: string; children?: ComponentChildren; onClose: () => void }>;

/** A secret that is shown once. It stays until the person says that they have it. */
export function SecretOnce({ title, secret, children, onClose }: SecretOnceProps) {
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

/** Opens a dialog over the page as long as it is drawn, and then gives the focus back. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return ref;
}

type Draw = (close: () => void) => ComponentChildren;

const shown = createSignal<Draw | undefined>(undefined);

/** Shows a dialog that outlives the page that asked for it, such as a secret after its form is gone. */
export function showDialog(content: Draw): void {
  shown.set(content);
}

/** Shows a secret once, with what else there is to know of it. */
export function showSecret(title: string, secret: string, about?: ComponentChildren): void {
  showDialog((onClose) => <SecretOnce {...{ title, secret, onClose }}>{about}</SecretOnce>);
}

/** Where such a dialog is drawn. Stands once in the document. */
export function ShownDialog() {
  return <>{shown.use()?.(() => shown.set(undefined))}</>;
}
