import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

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
