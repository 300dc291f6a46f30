import { Badge, Mono, Time } from '../../components/small.tsx';
import type { Row } from '../../kind/spec.ts';

/** Whether sending works, and what was last wrong. */
export function Sending({ row }: { readonly row: Row }) {
  const { lastSentAt, failingSince, leavesOutSince, earlierSecretUntil, lastError, stopped, owner } = row as Readonly<
    Record<string, string | undefined>
  >; // texts, but for the owner, as the schema of a webhook says
  const { name } = (owner ?? {}) as { readonly name?: string };
  const { url, email } = (row.target ?? {}) as { readonly url?: string; readonly email?: string }; // as the schema says
  return (
    <section class="overview connection" aria-label="Sending">
      <p>
        <Badge {...stateBadge(row)} />{' '}
        <span class="quiet">
          {lastSentAt === undefined ? 'nothing sent yet' : 'last sent '}
          {lastSentAt !== undefined && <Time at={lastSentAt} />}
          {name !== undefined && `, hears of what ${name} may read`}
        </span>
      </p>
      <p>
        Sends to <Mono>{url ?? email}</Mono>
      </p>
      {stopped !== undefined && (
        <p class="note warn">{`Switched off: ${stopped} Switch it on again when the receiver works; what waits is sent then.`}</p>
      )}
      {stopped === undefined && failingSince !== undefined && (
        <p class="note warn">
          Every attempt failed since <Time at={failingSince} />. {lastError} What waits is sent when it works again.
        </p>
      )}
      {leavesOutSince !== undefined && (
        <p class="note warn">
          So much waits that events are left out since <Time at={leavesOutSince} />.
        </p>
      )}
      {earlierSecretUntil !== undefined && (
        <p class="note">
          The secret before signs too until <Time at={earlierSecretUntil} />.
        </p>
      )}
    </section>
  );
}

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
