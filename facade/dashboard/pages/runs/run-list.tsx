import {
  Badge,
  duration,
  Empty,
  ErrorBox,
  LinkButton,
  number,
  Ref,
  Skeleton,
  Table,
  Time,
  useMay,
  usePages,
} from '../../commons.ts';
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
  const { rows, loading, error, more } = usePages<RunRow>(asked && 'list_agent_runs', asked);
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0 && (loading || !asked)) {
    return (
      <div class="pad">
        <Skeleton lines={6} />
      </div>
    );
  }
  if (rows.length === 0 && isNarrowed) return <Empty title="No runs match">Change or clear the filters.</Empty>;
  if (rows.length === 0) return <NoRuns />;
  return (
    <Table
      label="Runs"
      columns={asked && 'agentId' in asked ? COLUMNS.filter(({ id }) => id !== 'agent') : COLUMNS}
      rows={rows}
      keyOf={({ id }) => id}
      to={({ id }) => to(id)}
      picked={picked}
      onMore={more}
      loading={loading}
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

const COLUMNS = [
  { id: 'when', title: 'Started', cell: ({ createdAt }: RunRow) => <Time at={createdAt} /> },
  {
    id: 'agent',
    title: 'Agent',
    cell: ({ agentId }: RunRow) => (agentId === undefined ? 'Assistant' : <Ref id={agentId} />),
  },
  { id: 'status', title: 'Status', cell: ({ status }: RunRow) => <Badge value={status} />, width: '8rem' },
  { id: 'who', title: 'Asked by', cell: ({ principal }: RunRow) => principal.name, spare: 2 as const },
  { id: 'error', title: 'Error', cell: ({ error }: RunRow) => error?.message ?? '', spare: 3 as const },
  {
    id: 'tokens',
    title: 'Tokens',
    cell: ({ usage }: RunRow) => number(usage.inputTokens + usage.outputTokens),
    end: true,
    spare: 2 as const,
  },
  {
    id: 'took',
    title: 'Took',
    cell: ({ createdAt, finishedAt }: RunRow) => duration(createdAt, finishedAt),
    end: true,
    spare: 2 as const,
  },
];
