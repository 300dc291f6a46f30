import type { Integration, IntegrationTool } from '../../../resources/integration.ts';
import { act, counted, wordOf } from '../app.ts';
import { alternatives } from '../components/form/alternatives.tsx';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, AskButton, Badge, Empty, Json, LinkButton, Mono, Time, type Tone } from '../ui.ts';

const WHERE = 'Where it runs';
const PLACES = [
  { value: 'http', label: 'At an address', hint: 'A server that is there already, like https://mcp.example.com/mcp.' },
  { value: 'stdio', label: 'As a program here', hint: 'Started by this server, like npx with the name of a package.' },
];

const WAYS = {
  none: 'None',
  headers: 'Headers',
  'oauth-shared': 'OAuth, one account for all',
  'oauth-per-person': 'OAuth, an account for each person',
};

export const Page = kindPage('integration', {
  empty: 'An integration is another MCP server, whose tools are then offered here under the same rights and audit.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge {...statusOf(row)} />, width: '9rem' },
    { title: 'Tools', cell: (row: Row) => String(row.toolCount ?? ''), alignEnd: true, hidePriority: 2 },
    {
      title: 'To approve',
      cell: (row: Row) => (row.heldCount ? <Badge tone="warn">{String(row.heldCount)}</Badge> : ''),
      alignEnd: true,
      hidePriority: 2,
    },
  ],
  without: ['status', 'tools', 'prompts', 'resources', 'listingHash', 'createdBy', 'enabled'],
  fields: {
    name: { hint: 'Like GitHub.' },
    transport: { label: WHERE, options: Object.fromEntries(PLACES.map(({ value, label }) => [value, label])) },
    command: { hint: 'The program, like npx.' },
    args: {
      label: 'Arguments',
      hint: 'Like -y and then @modelcontextprotocol/server-github. Secrets belong in the variables.',
    },
    env: { hint: 'Like GITHUB_TOKEN. Kept as secrets: shown as •••, which keeps the stored one.' },
    url: { label: 'Address', hint: 'Like https://mcp.example.com/mcp. Secrets belong in the headers.' },
    auth: { label: 'Authentication', hint: 'Default: by the headers, where there are any.', options: WAYS },
    headers: { hint: 'Like Authorization. Kept as secrets: shown as •••, which keeps the stored one.' },
    oauth: {},
    enabled: {},
    toolPrefix: { hint: 'What the names of its tools begin with, like github. Default: made from the name.' },
    readOnlyTools: {},
    askFirst: {},
    timeoutMs: { label: 'Longest call (ms)', hint: 'Without a sign of progress, like 30000.' },
  },
  advanced: ['toolPrefix', 'readOnlyTools', 'askFirst', 'timeoutMs', 'accept'],
  controls: {
    transport: alternatives(WHERE, PLACES),
  },
  makes: {
    title: 'New integration',
    action: 'Create integration',
    intro: 'The tools of another MCP server are offered here, once you have looked at them and approved them.',
  },
  start: { transport: 'http' },
  hiddenIn: hiddenFor,
  actions: IntegrationActions,
  above: Connection,
  tabs: (row) => [{ id: 'tools', label: 'Tools', content: () => <Listing row={row} /> }],
  loss: () => 'Its tools are gone at once, for agents, flows and capsules too, and its secrets are deleted.',
});

const OF_PROGRAM = ['command', 'args', 'env'];

/** What belongs to the other way, or to a way to sign in that was not chosen. */
function hiddenFor({ transport, auth }: Row): readonly string[] {
  if (transport === 'stdio') return ['url', 'auth', 'headers', 'oauth'];
  const withOauth = String(auth).startsWith('oauth');
  return [...OF_PROGRAM, ...(withOauth ? [] : ['oauth']), ...(auth === 'none' || withOauth ? ['headers'] : [])];
}

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
  const held = heldBy(row);
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
      {held.length > 0 && (
        <div class="note warn approval">
          <p>Waiting for approval: {counted(held.length, 'definition')}. Until then nobody can use what they offer.</p>
          <LinkButton needs="refresh_integration" text="Read and approve" to={`/integrations/${row.id}?tab=tools`} />
        </div>
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
const WORDS: Readonly<Record<string, string>> = { wants_oauth: 'Account required', per_person: 'Account per person' };

function statusOf({ status }: Row): { readonly tone: Tone; readonly children: string } {
  const { state } = status as Integration['status'];
  return { tone: TONES[state], children: WORDS[state] ?? wordOf(state) };
}

/** A tool, prompt or resource; prompts and resources have fewer members. */
type Listed = Omit<Partial<IntegrationTool>, 'name'> & Readonly<{ name: string; state: IntegrationTool['state'] }>;

const HELD = ['new', 'changed', 'gone'];
const GROUPS = ['tools', 'prompts', 'resources'] as const;

/** All that its server lists, as the answer of `get_integration` holds it. */
function listedBy(row: Row) {
  return GROUPS.flatMap((group) => ((row[group] ?? []) as readonly Listed[]).map((one) => ({ ...one, group })));
}

function heldBy(row: Row) {
  return listedBy(row).filter(({ state }) => HELD.includes(state));
}

function Listing({ row }: { readonly row: Row }) {
  const listed = listedBy(row);
  const held = heldBy(row);
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
        {[...held, ...listed.filter(({ state }) => !HELD.includes(state))].map((one) => (
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
