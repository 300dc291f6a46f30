import type { z } from 'zod';
import type { AuditEntry } from '../../../resources/audit-entry.ts';
import type { systemHealth } from '../../../resources/health.ts';
import { at, type ListAnswer, setQuery, shortWordsIn, useAnswer, useLocation, useMay, useNames } from '../app.ts';
import { WaitsForYou } from '../components/waiting-approvals.tsx';
import { Avatar, Badge, Empty, Icon, Link, LinkButton, Segments, Skeleton, Time, type Tone } from '../ui.ts';
import { HAPPENED, spanIn } from './home/first-calls.ts';
import { Headlines, type Overview, RevenueChart, useMetric } from './home/headlines.tsx';

const SPANS = [
  { value: 'days', label: '30 days' },
  { value: 'months', label: '12 months' },
] as const;

export function Page() {
  const span = spanIn(useLocation().query);
  const { data: overview } = useMetric<Overview>('get_overview', span);
  // Where there are no numbers yet, what is left to set up comes first.
  const isNew = overview?.totalUsers === 0;
  return (
    <div class="page-body">
      <header class="page-head home-head">
        <h1>Home</h1>
        <span class="page-actions">
          <Health />
          <Segments label="Range" value={span} options={SPANS} onChange={(value) => setQuery({ span: value })} />
        </span>
      </header>
      <WaitsForYou />
      <Headlines span={span} />
      <div class="home-columns">
        <div class="home-main">
          {isNew && <Checklist />}
          <RevenueChart span={span} />
          {!isNew && <Checklist />}
        </div>
        <Happened />
      </div>
    </div>
  );
}

type SystemHealth = z.infer<typeof systemHealth>;

const WORDS: Readonly<Record<SystemHealth['overallStatus'], readonly [string, Tone]>> = {
  ok: ['All systems fine', 'good'],
  degraded: ['Something needs attention', 'warn'],
  down: ['The server takes no changes', 'alarm'],
};

const NO_COLLECTOR = 'Traces go to no collector; OTEL_EXPORTER_OTLP_ENDPOINT sets one.';

function Health() {
  const may = useMay('get_system_health');
  const mayBudget = useMay('list_budgets');
  const { data } = useAnswer<SystemHealth>(may ? 'get_system_health' : undefined);
  if (!data) return null;
  const [words, tone] = WORDS[data.overallStatus];
  return (
    <>
      <button type="button" class="health" popovertarget="health-list">
        <Badge tone={tone}>{words}</Badge>
      </button>
      <div
        id="health-list"
        popover="auto"
        class="menu health-list"
        role="dialog"
        aria-label="What the server depends on"
      >
        {data.integrations.map(({ name, kind, status, latencyMs, lastError }) => (
          <div key={name} class="health-row">
            <span>{name}</span>
            <span class="faint number">{Math.round(latencyMs)} ms</span>
            <Badge value={status} />
            {lastError && <p class="hint">{lastError}</p>}
            {kind === 'budgets' && mayBudget && <Link to="/budgets">See the budgets</Link>}
          </div>
        ))}
        {!data.integrations.some(({ kind }) => kind === 'telemetry') && <p class="hint">{NO_COLLECTOR}</p>}
      </div>
    </>
  );
}

function Happened() {
  const may = useMay('list_audit_entries');
  const { data, loading } = useAnswer<ListAnswer<AuditEntry>>(may ? 'list_audit_entries' : undefined, HAPPENED);
  const changes = data?.data ?? [];
  if (!may) return null;
  return (
    <section class="card home-side" aria-labelledby="happened">
      <header class="card-head">
        <h2 id="happened">What happened</h2>
        <Link to="/audit">Audit log</Link>
      </header>
      {changes.length === 0 && loading && (
        <div class="pad">
          <Skeleton lines={6} />
        </div>
      )}
      {changes.length === 0 && !loading && <Empty title="Nothing yet">Changes appear here.</Empty>}
      <ul class="happened">
        {changes.map(({ id, principal, tool: name, requestId, at: time }) => (
          <li key={id}>
            <a class="happened-row" href={at(`/audit?requestId=${encodeURIComponent(requestId)}`)}>
              <Avatar name={principal.name} size="s" />
              <span class="happened-words">
                <strong>{principal.name}</strong> {told(name)}
              </span>
              <span class="happened-time">
                <Time at={time} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const IRREGULAR: Readonly<Record<string, string>> = {
  create: 'made',
  update: 'changed',
  send: 'sent',
  trigger: 'started',
  invoke: 'asked',
  cancel: 'cancelled',
  retry: 'retried',
  rebuild: 'rebuilt',
  take: 'took',
};
const REGULAR =
  /^(add|call|confirm|connect|deactivate|delete|disconnect|end|fork|import|provision|purge|reactivate|receive|refresh|remove|rename|restore|revoke|rotate|test)$/;

/** `create_agent` -> `made agent`. */
function told(tool: string): string {
  if (tool === 'create_session') return 'signed in';
  const [verb = '', ...rest] = tool.split('_');
  const did = IRREGULAR[verb] ?? (REGULAR.test(verb) ? verb.replace(/e?$/, 'ed') : verb);
  return `${did} ${shortWordsIn(rest.join(' '))}`;
}

/** `tool`: the reading call that tells whether it is done, by how many records it finds. */
type Item = Readonly<{ title: string; hint: string; to: string; tool: string; input?: object; atLeast?: number }>;

const ITEMS: readonly Item[] = [
  {
    title: 'Connect a client',
    hint: 'Claude, ChatGPT, VS Code or your own code.',
    to: '/connect',
    tool: 'list_audit_entries',
    input: { door: 'mcp', outcome: 'ok' },
  },
  {
    title: 'Make an agent',
    hint: 'It answers people and does work with the tools you allow.',
    to: '/agents/new',
    tool: 'list_agents',
  },
  {
    title: 'Make a capsule',
    hint: 'An endpoint of its own with just the tools that somebody needs.',
    to: '/capsules/new',
    tool: 'list_capsules',
  },
  {
    title: 'Import your users',
    hint: 'Metrics and look-ups are computed from them.',
    to: '/import',
    tool: 'list_users',
  },
  {
    title: 'Invite somebody',
    hint: 'Another person who administers this workspace.',
    to: '/people/new',
    tool: 'list_admin_users',
    atLeast: 2,
  },
];

/** What is left to set up; each line ticks itself. Nothing once all is done. */
function Checklist() {
  const names = useNames();
  const states = ITEMS.map((item) => ({ item, isDone: useDone(item, names.has(item.tool)) })).filter(({ item }) =>
    names.has(item.tool),
  );
  const ready = states.filter(({ isDone }) => isDone).length;
  if (states.some(({ isDone }) => isDone === undefined) || ready === states.length) return null;
  const sorted = [...states].sort((one, other) => Number(one.isDone) - Number(other.isDone));
  return (
    <section class="card" aria-labelledby="set-up">
      <header class="card-head">
        <h2 id="set-up">
          Set up <span class="card-count">{`${ready} of ${states.length}`}</span>
        </h2>
        <progress class="progress" max={states.length} value={ready} aria-label="Set up" />
      </header>
      <ul class="checklist">
        {sorted.map(({ item, isDone }) => (
          <li key={item.title} class={isDone ? 'checklist-item done' : 'checklist-item'}>
            <span class="tick">{isDone && <Icon name="check" size={12} />}</span>
            <span class="checklist-words">
              <span class="checklist-title">{item.title}</span>
              {isDone ? <span class="visually-hidden">: done</span> : <span class="quiet"> · {item.hint}</span>}
            </span>
            {!isDone && <LinkButton text="Start" to={item.to} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Undefined until it is known. */
function useDone({ tool, input = {}, atLeast = 1 }: Item, may: boolean): boolean | undefined {
  const { data } = useAnswer<ListAnswer<unknown>>(may ? tool : undefined, { ...input, limit: atLeast });
  return data && data.data.length >= atLeast;
}
