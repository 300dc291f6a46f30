import type { ComponentChildren } from 'preact';
import { at } from '../router.ts';
import { useMay } from '../tools.ts';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps {
  /** What it says. Without it, the button is its icon. */
  readonly text?: ComponentChildren;
  readonly icon?: IconName | undefined;
  /** `primary`: the one thing to do here; `alarm`: something is lost; `quiet`: without a frame. */
  readonly look?: 'primary' | 'alarm' | 'quiet' | undefined;
  /** Shown only to people who may call this tool. */
  readonly needs?: string | undefined;
  readonly label?: string;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly type?: 'button' | 'submit';
  readonly form?: string;
  readonly popovertarget?: string;
  /** What it shows and hides. */
  readonly expands?: Readonly<{ id: string; isOpen: boolean }>;
  readonly onClick?: (event: Event) => void;
}

export function Button({
  needs,
  text,
  icon,
  look,
  label,
  busy = false,
  disabled = false,
  type = 'button',
  expands,
  ...rest
}: ButtonProps) {
  const may = useMay(needs) || needs === undefined;
  const only = text === undefined;
  if (!may) return null;
  return (
    <button
      type={type}
      class={classOf(look, only)}
      aria-label={label}
      title={only ? label : undefined}
      disabled={disabled || busy}
      aria-busy={busy}
      {...(expands && { 'aria-expanded': expands.isOpen, 'aria-controls': expands.id })}
      {...rest}
    >
      {busy ? <span class="spinner" /> : icon && <Icon name={icon} />}
      {text}
    </button>
  );
}

interface LinkButtonProps extends Pick<ButtonProps, 'text' | 'icon' | 'look' | 'label' | 'needs'> {
  /** A path of the dashboard. */
  readonly to: string;
}

export function LinkButton({ to, text, icon, look, label, needs }: LinkButtonProps) {
  const may = useMay(needs) || needs === undefined;
  const only = text === undefined;
  if (!may) return null;
  return (
    <a class={classOf(look, only)} href={at(to)} aria-label={label} title={only ? label : undefined}>
      {icon && <Icon name={icon} />}
      {text}
    </a>
  );
}

function classOf(look: ButtonProps['look'], only: boolean): string {
  return ['button', look ?? '', only ? 'only-icon' : ''].join(' ').trim();
}
