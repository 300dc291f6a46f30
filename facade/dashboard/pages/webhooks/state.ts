import type { Row } from '../../kind/spec.ts';

type Tone = 'good' | 'warn' | 'alarm' | 'plain';

const STATES: Readonly<Record<string, { readonly tone: Tone; readonly children: string }>> = {
  ok: { tone: 'good', children: 'Works' },
  failing: { tone: 'warn', children: 'Failing' },
  stopped: { tone: 'alarm', children: 'Stopped' },
  disabled: { tone: 'plain', children: 'Off' },
};

/** Whether it sends, in a word. */
export function stateBadge({ state }: Row): { readonly tone: Tone; readonly children: string } {
  return STATES[String(state)] ?? { tone: 'plain', children: String(state) };
}

/** The host or the mail address that it sends to. */
export function targetOf({ target }: Row): string {
  const { url, email } = (target ?? {}) as { readonly url?: string; readonly email?: string }; // as the schema of a webhook says
  if (url === undefined) return email ?? '';
  return URL.canParse(url) ? new URL(url).host : url;
}
