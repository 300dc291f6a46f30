import type { ComponentChildren } from 'preact';
import { createSignal } from '../signal.ts';
import { text } from '../text.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

type Toast = Readonly<{ id: number; content: ComponentChildren; failed: boolean }>;

const shown = createSignal<readonly Toast[]>([]);
let lastId = 0;
const SHOWN_MS = 8000;

/** Says at the edge of the page that something was done, for example with a link to undo it, or that it failed. */
export function toast(content: ComponentChildren, failed = false): void {
  lastId += 1;
  const id = lastId;
  shown.set([...shown.get().slice(-2), { id, content, failed }]);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  shown.set(shown.get().filter((other) => other.id !== id));
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {shown.use().map(({ id, content, failed }) => (
        <div key={id} class={failed ? 'toast toast-failed' : 'toast'}>
          <Icon name={failed ? 'warning' : 'check'} />
          <span>{content}</span>
          <Button look="quiet" icon="close" label={text.close} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
