/**
 * Puts a popover below what opens it, within the window, with the left or the right sides of both in line; above it where there is more room
 * and the popover, or the height that it may grow to, does not fit below.
 */
export function placeBelow(popover: HTMLElement, opener: HTMLElement, side: 'left' | 'right', height = 0): void {
  const box = opener.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const room = clientHeight - box.bottom;
  const isAbove = room < Math.max(popover.offsetHeight, height) + EDGE && box.top > room;
  const left = side === 'left' ? box.left : box.right - popover.offsetWidth;
  popover.style.top = isAbove ? 'auto' : `${box.bottom + GAP}px`;
  popover.style.bottom = isAbove ? `${clientHeight - box.top + GAP}px` : 'auto';
  popover.style.left = `${Math.max(EDGE, Math.min(left, clientWidth - popover.offsetWidth - EDGE))}px`;
}

/** Room that is left beside it, in pixels. */
const EDGE = 8;
/** Between it and what opens it. */
const GAP = 4;

/** As a popover tells that it opens or closes. Preact's types know the event without its state. */
export function onToggle(tell: (isOpen: boolean) => void): { readonly onToggle: (event: Event) => void } {
  return { onToggle: (event) => tell((event as ToggleEvent).newState === 'open') };
}
