/** Puts a popover below what opens it, within the window, with the left or the right sides of both in line. */
export function placeBelow(popover: HTMLElement, opener: HTMLElement, side: 'left' | 'right'): void {
  const box = opener.getBoundingClientRect();
  const { clientWidth } = document.documentElement;
  const left = side === 'left' ? box.left : box.right - popover.offsetWidth;
  popover.style.top = `${box.bottom + 4}px`;
  popover.style.left = `${Math.max(EDGE, Math.min(left, clientWidth - popover.offsetWidth - EDGE))}px`;
}

/** Room that is left beside it, in pixels. */
const EDGE = 8;

/** As a popover tells that it opens or closes. Preact's types know the event without its state. */
export function onToggle(tell: (isOpen: boolean) => void): { readonly onToggle: never } {
  return { onToggle: ((event: ToggleEvent) => tell(event.newState === 'open')) as never };
}
