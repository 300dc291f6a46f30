import { wordOf } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import type { Tone } from '../../ui.ts';

const TONES: Readonly<Record<string, Tone>> = {
  connected: 'good',
  per_person: 'good',
  connecting: 'accent',
  wants_oauth: 'warn',
  unavailable: 'alarm',
};
const WORDS: Readonly<Record<string, string>> = { wants_oauth: 'Wants an account', per_person: 'Account per person' };

/** The state of the connection, as a badge shows it. */
export function statusOf({ status }: Row): { readonly tone: Tone; readonly children: string } {
  const { state = 'disabled' } = (status ?? {}) as { readonly state?: string }; // as the schema of an integration says
  return { tone: TONES[state] ?? 'plain', children: WORDS[state] ?? wordOf(state) };
}
