import type { Integration, IntegrationTool } from '../../../resources/integration.ts';
import { act, counted, wordOf } from '../app.ts';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, AskButton, Badge, Empty, Json, Mono, Time, type Tone } from '../ui.ts';

export const Page = kindPage('integration', {
  empty: 'An integration is another MCP server, whose tools are then offered here under the same rights and audit.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge {...statusOf(row)} />, width: '9rem' },
    { title: 'Tools', cell: (row: Row) => String(row.toolCount ?? ''), alignEnd: true, hidePriority: 2 },
    {
      title: 'To approve',
      cell: (row: Row) => (row.heldCount ? <Badge tone="warn">{String(row.heldCount)}</Badge> : ''),
      alignEnd: true,
      hidePriority: 1,
    },
  ],
  without: ['status', 'tools', 'prompts', 'resources', 'listingHash', 'createdBy', 'enabled'],
  actions: IntegrationActions,
  above: Connection,
  tabs: (row) => [{ id: 'tools', label: 'Tools', content: () => <Listing row={row} /> }],
  loss: () => 'Its tools are gone at once, for agents, flows and capsules too, and its secrets are deleted.',
});

function IntegrationActions({ row }: { readonly row: Row }) {
  const wants = typeof row.auth === 'string' && row.auth.startsWith('oauth');
  const refresh = () => act('refresh_integration', { id: row.id });
  const connect = async () => location.assign(String((await act<Row>('connect_integration', { id: row.id })).url));
  return (
    <>
      {wants && <ActionButton needs="connect_integration" text="Connect account" icon="link" run={connect} />}
      {row.enabled !== false && (
        <ActionButton needs="refresh_integration" text="Refresh" icon="refresh" run={refresh} />
      )}
    </>
  );
}

function Connection({ row }: { readonly row: Row }) {
  const { since, server, latencyMs, lastError, lastOutput, retryAt } = row.status as Integration['status'];
  return (
    <section class="overview connection" aria-label="Connection">
      <p>
        <Badge {...statusOf(row)} />{' '}
        <span class="quiet">
          since <Time at={since} />
          {server && `, ${server}`}
          {latencyMs !== undefined && `, ${Math.round(latencyMs)} ms`}
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

const TONES: Readonly<Record<Integration['status']['state'], Tone>> = {
  disabled: 'plain',
  connected: 'good',
  per_person: 'good',
  connecting: 'accent',
  wants_oauth: 'warn',
  unavailable: 'alarm',
};
const WORDS: Readonly<Record<string, string>> = { wants_oauth: 'Wants an account', per_person: 'Account per person' };

function statusOf({ status }: Row): { readonly tone: Tone; readonly children: string } {
  const { state } = status as Integration['status'];
  return { tone: TONES[state], children: WORDS[state] ?? wordOf(state) };
}

/** A tool, prompt or resource; prompts and resources have fewer members. */
type Listed = Omit<Partial<IntegrationTool>, 'name'> & Readonly<{ name: string; state: IntegrationTool['state'] }>;

const HELD = ['new', 'changed', 'gone'];
const GROUPS = ['tools', 'prompts', 'resources'] as const;

function Listing({ row }: { readonly row: Row }) {
  const listed = GROUPS.flatMap((group) => ((row[group] ?? []) as readonly Listed[]).map((one) => ({ ...one, group })));
  const held = listed.filter(({ state }) => HELD.includes(state));
  if (listed.length === 0) return <Empty title="It lists nothing yet">Refresh once it is connected.</Empty>;
  const ask = {
    title: `Approve ${counted(held.length, 'definition')}?`,
    action: 'Approve',
    look: 'primary' as const,
    run: () => act('refresh_integration', { id: row.id, accept: true, listingHash: row.listingHash }),
  };
  return (
    <div class="overview">
      {held.length > 0 && (
        <div class="note warn approval">
          <p>
            {counted(held.length, 'definition')} changed. Read what is new before you approve: agents follow what it
            says.
          </p>
          <AskButton needs="refresh_integration" text="Approve" look="primary" icon="check" ask={ask}>
            <p>They are offered as they stand here. If the other server changed them meanwhile, nothing is approved.</p>
          </AskButton>
        </div>
      )}
      <ul class="stack">
        {[...held, ...listed.filter((one) => !held.includes(one))].map((one) => (
          <ListedOne key={`${one.group} ${one.name}`} {...one} />
        ))}
      </ul>
    </div>
  );
}

const LISTED_TONES = { approved: 'plain', new: 'accent', changed: 'warn', gone: 'plain', left_out: 'plain' } as const;

function ListedOne(one: Listed & { readonly group: string }) {
  const { name, tool, state, title, description, inputSchema, reason, readOnly, group } = one;
  const detail = description ?? reason;
  return (
    <li>
      <details open={state === 'changed' || state === 'new'}>
        <summary>
          <span class="timeline-title">{title ?? name}</span> <Mono>{tool ?? name}</Mono>{' '}
          {group !== 'tools' && <span class="faint">{group.slice(0, -1)} </span>}
          {state !== 'approved' && <Badge tone={LISTED_TONES[state]}>{wordOf(state)}</Badge>}{' '}
          {group === 'tools' && state === 'approved' && (
            <Badge tone={readOnly ? 'plain' : 'warn'}>{readOnly ? 'Reads' : 'May write'}</Badge>
          )}
        </summary>
        {detail && <p class="quoted">{detail}</p>}
        {inputSchema && <Json value={inputSchema} label={`Input of ${name}`} />}
      </details>
    </li>
  );
}
