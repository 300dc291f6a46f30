import { useId, useRef } from 'preact/hooks';
import { text } from '../text.ts';
import { useNames } from '../tools.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { onToggle, placeBelow } from './popover.ts';

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
