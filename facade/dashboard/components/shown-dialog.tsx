import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

type Draw = (close: () => void) => ComponentChildren;

let shown: Draw | undefined;
let draw = () => {};

/** Shows a dialog that outlives the page that asked for it, such as a secret after its form is gone. */
export function showDialog(content: Draw): void {
  shown = content;
  draw();
}

function close(): void {
  shown = undefined;
  draw();
}

/** Where such a dialog is drawn. Stands once in the document. */
export function ShownDialog() {
  const [, set] = useState({});
  useLayoutEffect(() => {
    draw = () => set({});
  }, []);
  return <>{shown?.(close)}</>;
}
