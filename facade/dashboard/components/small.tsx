import type { ComponentChildren } from 'preact';
import { exactTime, relative, wordOf } from '../format.ts';
import { at } from '../router.ts';
import { text } from '../text.ts';

export type Tone = 'good' | 'warn' | 'alarm' | 'accent' | 'plain';

const TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  ok: 'good',
  live: 'good',
  done: 'good',
  succeeded: 'good',
  completed: 'good',
  connected: 'good',
  enabled: 'good',
  allowed: 'good',
  running: 'accent',
  in_progress: 'accent',
  queued: 'accent',
  waiting: 'warn',
  paused: 'warn',
  approval_required: 'warn',
  degraded: 'warn',
  blocked: 'warn',
  high: 'warn',
  invalid: 'warn',
  depends: 'warn',
  urgent: 'alarm',
  failed: 'alarm',
  down: 'alarm',
  denied: 'alarm',
  error: 'alarm',
  revoked: 'alarm',
  deleted: 'alarm',
};

type BadgeProps = Readonly<{ value?: string; tone?: Tone; children?: ComponentChildren }>;

/** A state in a word, with the colour that fits. */
export function Badge({ value, tone, children }: BadgeProps) {
  return (
    <span class={`badge ${tone ?? TONES[value ?? ''] ?? 'plain'}`}>
      {children ?? (value === 'approval_required' ? 'Waiting for approval' : wordOf(value ?? ''))}
    </span>
  );
}

/** How long ago, with the exact time to see. */
export function Time({ at: instant }: { readonly at: string | undefined }) {
  if (instant === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={instant} title={exactTime(instant)}>
      {relative(instant)}
    </time>
  );
}

const COLOURS = ['#4a5365', '#3c55c9', '#0b766e', '#9a5a00', '#a92d66', '#6d46bd'];

/** The first letters of a name on a colour of its own. */
export function Avatar({ name, size = 'm' }: { readonly name: string; readonly size?: 's' | 'm' | 'l' }) {
  const sum = [...name].reduce((total, letter) => (total * 31 + (letter.codePointAt(0) ?? 0)) % 997, 7);
  return (
    <span class={`avatar ${size}`} style={{ background: COLOURS[sum % COLOURS.length] }} aria-hidden="true">
      {[...name][0]?.toUpperCase()}
    </span>
  );
}

export function Link({ to, children }: { readonly to: string; readonly children: ComponentChildren }) {
  return <a href={at(to)}>{children}</a>;
}

/** A short text as it is written in code. */
export function Mono({ children }: { readonly children: ComponentChildren }) {
  return <code class="mono">{children}</code>;
}

type EmptyProps = Readonly<{ title: string; children?: ComponentChildren; action?: ComponentChildren }>;

/** Says what is not there yet and what to do about it. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p class="quiet">{children}</p>}
      {action}
    </div>
  );
}

/** A name and its value, in a list of such (`fields`). */
export function NamedValue({ name, about, children }: NamedValueProps) {
  return (
    <div class="fields-row">
      <dt title={about}>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

type NamedValueProps = Readonly<{ name: ComponentChildren; about?: string | undefined; children: ComponentChildren }>;

/** Shown where something is on its way. */
export function Waiting() {
  return <div class="waiting" role="status" aria-label={text.loading} />;
}

/** Grey lines in place of what is on its way. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={text.loading}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="skeleton-line" />
      ))}
    </div>
  );
}
