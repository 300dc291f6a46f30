import { duration, number, useMay, usePagedList } from '../../app.ts';
import { Badge, type Column, Empty, LinkButton, PagedTable, Ref, Skeleton, Time } from '../../ui.ts';
import type { RunRow } from './run.ts';

interface RunListProps {
  /** The input of `list_agent_runs`. Undefined while nobody knows whether the person may call it. */
  readonly asked: object | undefined;
  readonly to: (id: string) => string;
  readonly picked?: string | undefined;
  /** Whether the person has narrowed the list. */
  readonly isNarrowed?: boolean;
}

export function RunList({ asked, to, picked, isNarrowed = false }: RunListProps) {
  const pages = usePagedList<RunRow>(asked && 'list_agent_runs', asked);
  if (pages.rows.length === 0 && (pages.loading || !asked)) {
    return (
      <div class="pad">
        <Skeleton lines={6} />
      </div>
    );
  }
  return (
    <PagedTable
      label="Runs"
      columns={asked && 'agentId' in asked ? COLUMNS.filter(({ title }) => title !== 'Agent') : COLUMNS}
      pages={pages}
      to={({ id }) => to(id)}
      picked={picked}
      none={isNarrowed ? <Empty title="No runs match">Change or clear the filters.</Empty> : <NoRuns />}
    />
  );
}

function NoRuns() {
  const may = useMay('send_chat_message');
  const action = may && <LinkButton text="New chat" icon="chat" to="/chat/new" />;
  return (
    <Empty title="No runs" action={action}>
      A run is one message to an agent, or one piece of work for it.
    </Empty>
  );
}

/** The runs of one agent. */
export function AgentRuns({ agentId }: { readonly agentId: string }) {
  const to = (id: string) => `/runs/${encodeURIComponent(id)}?agentId=${encodeURIComponent(agentId)}`;
  return <RunList asked={{ agentId, limit: 50 }} to={to} />;
}

const COLUMNS: readonly Column<RunRow>[] = [
  { title: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Agent', cell: ({ agentId }) => (agentId === undefined ? 'Assistant' : <Ref id={agentId} />) },
  { title: 'Status', cell: ({ status }) => <Badge value={status} />, width: '8rem' },
  { title: 'Asked by', cell: ({ principal }) => principal.name, spare: 2 },
  { title: 'Error', cell: ({ error }) => error?.message ?? '', spare: 3 },
  { title: 'Tokens', cell: ({ usage }) => number(usage.inputTokens + usage.outputTokens), end: true, spare: 2 },
  { title: 'Took', cell: ({ createdAt, finishedAt }) => duration(createdAt, finishedAt), end: true, spare: 2 },
];
