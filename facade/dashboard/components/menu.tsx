import { useId, useRef } from 'preact/hooks';
import { text } from '../text.ts';
import { useNames } from '../tools.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly alarm?: boolean;
  /** Shown only to people who may call this tool. */
  readonly needs?: string;
  readonly run: () => void;
}

/** Further actions in a native popover. Nothing if there are none. */
export function Menu({ items: all, label = text.more }: Readonly<{ items: readonly MenuItem[]; label?: string }>) {
  const id = useId();
  const ref = useRef<HTMLDivElement>(null);
  const anchor = useRef<HTMLSpanElement>(null);
  const names = useNames();
  const items = all.filter(({ needs }) => needs === undefined || names.has(needs));
  if (items.length === 0) return null;
  const toggled = (opens: boolean) => {
    if (opens && ref.current && anchor.current) placeBelow(ref.current, anchor.current, 'right');
  };
  return (
    <span class="menu-anchor" ref={anchor}>
      <Button look="quiet" icon="more" label={label} popovertarget={id} />
      <div id={id} ref={ref} popover="auto" class="menu" {...onToggle(toggled)}>
        {items.map(({ label: name, icon, alarm, run }) => (
          <button
            key={name}
            type="button"
            class={alarm ? 'menu-item alarm' : 'menu-item'}
            onClick={() => {
              ref.current?.hidePopover();
              run();
            }}
          >
            {icon && <Icon name={icon} />}
            {name}
          </button>
        ))}
      </div>
    </span>
  );
}

/**
 * Puts a popover below what opens it, within the window, with the left or the right sides of both in line; above it where there is more room
 * and the popover, or the height that it may grow to, does not fit below.
 */
export function placeBelow(popover: HTMLElement, opener: HTMLElement, side: 'left' | 'right', height = 0): void {
  popover.style.maxHeight = '';
  const box = opener.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const room = clientHeight - box.bottom;
  const isAbove = room < Math.max(popover.offsetHeight, height) + EDGE && box.top > room;
  const left = side === 'left' ? box.left : box.right - popover.offsetWidth;
  popover.style.top = isAbove ? 'auto' : `${box.bottom + GAP}px`;
  popover.style.bottom = isAbove ? `${clientHeight - box.top + GAP}px` : 'auto';
  popover.style.maxHeight = `${(isAbove ? box.top : room) - GAP - EDGE}px`;
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
