import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { text } from '../text.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

type Toast = Readonly<{ id: number; content: ComponentChildren }>;

let toasts: readonly Toast[] = [];
let lastId = 0;
let draw = () => {};
const SHOWN_MS = 8000;

/** Says at the edge of the page that something was done, for example with a link to undo it. */
export function toast(content: ComponentChildren): void {
  lastId += 1;
  const id = lastId;
  toasts = [...toasts.slice(-2), { id, content }];
  draw();
  setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  toasts = toasts.filter((other) => other.id !== id);
  draw();
}

export function Toasts() {
  const [, set] = useState({});
  useLayoutEffect(() => {
    draw = () => set({});
  }, []);
  return (
    <div class="toasts" role="status">
      {toasts.map(({ id, content }) => (
        <div key={id} class="toast">
          <Icon name="check" />
          <span>{content}</span>
          <Button look="quiet" icon="close" label={text.close} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
