import type { ComponentChildren } from 'preact';
import { at } from '../router.ts';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** `primary`: the one thing to do here; `alarm`: something is lost; `quiet`: without a frame. */
  readonly look?: 'primary' | 'alarm' | 'quiet';
  /** Needed where there is no text. */
  readonly label?: string;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly type?: 'button' | 'submit';
  readonly form?: string;
  readonly popovertarget?: string;
  readonly onClick?: (event: Event) => void;
}

export function Button({
  children,
  icon,
  look,
  label,
  busy = false,
  disabled = false,
  type = 'button',
  ...rest
}: ButtonProps) {
  const only = children === undefined;
  return (
    <button
      type={type}
      class={classOf(look, only)}
      aria-label={label}
      title={only ? label : undefined}
      disabled={disabled || busy}
      aria-busy={busy}
      {...rest}
    >
      {busy ? <span class="spinner" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export interface LinkButtonProps extends Pick<ButtonProps, 'children' | 'icon' | 'look' | 'label'> {
  /** A path of the dashboard. */
  readonly to: string;
}

export function LinkButton({ to, children, icon, look, label }: LinkButtonProps) {
  const only = children === undefined;
  return (
    <a class={classOf(look, only)} href={at(to)} aria-label={label} title={only ? label : undefined}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}

function classOf(look: ButtonProps['look'], only: boolean): string {
  return ['button', look ?? '', only ? 'only-icon' : ''].join(' ').trim();
}
