import { wordOf } from '../../app.ts';
import { Badge, Time } from '../../components/small.tsx';
import type { Row } from '../../kind/spec.ts';
import type { Tone } from '../../ui.ts';

/** Whether the other server answers, and what it last said when it did not. */
export function Connection({ row }: { readonly row: Row }) {
  const status = (row.status ?? {}) as Readonly<Record<string, string>>; // as the schema of an integration says
  const { since, server, lastError, lastOutput, retryAt } = status;
  return (
    <section class="overview connection" aria-label="Connection">
      <p>
        <Badge {...statusOf(row)} />{' '}
        <span class="quiet">
          since <Time at={since} />
          {server && `, ${server}`}
          {status.latencyMs !== undefined && `, ${Math.round(Number(status.latencyMs))} ms`}
        </span>
      </p>
      {lastError && (
        <p class="note warn">
          {lastError}
          {retryAt && (
            <>
              {' '}
              Tried again <Time at={retryAt} />.
            </>
          )}
        </p>
      )}
      {lastOutput && (
        <details>
          <summary>What the program wrote last</summary>
          <pre class="mono">{lastOutput}</pre>
        </details>
      )}
    </section>
  );
}

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
