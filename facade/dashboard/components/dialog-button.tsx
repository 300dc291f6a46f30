import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button, type ButtonProps } from './button.tsx';

interface DialogButtonProps extends Pick<ButtonProps, 'text' | 'icon' | 'look' | 'needs'> {
  /** Draws the dialog, which closes by calling the function. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens a dialog. */
export function DialogButton({ children, ...button }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && children(() => setOpen(false))}
    </>
  );
}
