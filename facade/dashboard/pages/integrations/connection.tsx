import { Badge, Time } from '../../components/small.tsx';
import type { Row } from '../../kind/spec.ts';
import { statusOf } from './status.ts';

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
