import type { z } from 'zod';
import type { agentRun } from '../../../../resources/agent-run.ts';
import { duration, number, usePagedList } from '../../app.ts';
import { Badge, type Column, Empty, FilteredRows, LinkButton, Ref, Time } from '../../ui.ts';
import { usePolling } from '../../use-polling.ts';

type RunSummary = z.infer<typeof agentRun>;

interface RunListProps {
  /** The input of `list_agent_runs`. Undefined while nobody knows whether the person may call it. */
  readonly asked: object | undefined;
  readonly to: (id: string) => string;
  readonly picked?: string | undefined;
  /** Whether the person has narrowed the list. */
  readonly isNarrowed?: boolean;
}

export function RunList({ asked, to, picked, isNarrowed = false }: RunListProps) {
  const pages = usePagedList<RunSummary>(asked && 'list_agent_runs', asked);
  usePolling(pages.rows.some(({ status }) => status === 'running' || status === 'waiting'));
  return (
    <FilteredRows
      label="Runs"
      columns={asked && 'agentId' in asked ? COLUMNS.filter(({ title }) => title !== 'Agent') : COLUMNS}
      pages={asked ? pages : { ...pages, loading: true }}
      to={({ id }) => to(id)}
      picked={picked}
      none={isNarrowed ? <Empty title="No runs match">Change or clear the filters.</Empty> : <NoRuns />}
    />
  );
}

function NoRuns() {
  const action = <LinkButton needs="send_chat_message" text="New chat" icon="chat" to="/chat/new" />;
  return (
    <Empty title="No runs" action={action}>
      A run is one message to an agent, or one piece of work for it.
    </Empty>
  );
}

export function AgentRuns({ agentId }: { readonly agentId: string }) {
  const to = (id: string) => `/runs/${encodeURIComponent(id)}?agentId=${encodeURIComponent(agentId)}`;
  return <RunList asked={{ agentId, limit: 50 }} to={to} />;
}

const COLUMNS: readonly Column<RunSummary>[] = [
  { title: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Agent', cell: ({ agentId }) => (agentId === undefined ? 'Assistant' : <Ref id={agentId} />) },
  { title: 'Status', cell: ({ status }) => <Badge value={status} />, width: '8rem' },
  { title: 'Asked by', cell: ({ principal }) => principal.name, hidePriority: 2 },
  { title: 'Error', cell: ({ error }) => error?.message ?? '', hidePriority: 3 },
  {
    title: 'Tokens',
    cell: ({ usage }) => number(usage.inputTokens + usage.outputTokens),
    alignEnd: true,
    hidePriority: 2,
  },
  {
    title: 'Took',
    cell: ({ createdAt, finishedAt }) => duration(createdAt, finishedAt),
    alignEnd: true,
    hidePriority: 2,
  },
];
