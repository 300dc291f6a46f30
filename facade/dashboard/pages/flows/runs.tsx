import { Badge, duration, Empty, ErrorBox, Ref, Skeleton, Table, Time, usePages, usePlace } from '../../commons.ts';
import { useRenewed } from '../../renewed.ts';
import type { Run } from './run.ts';
import { RunDetail } from './run-detail.tsx';

/** The runs of a flow, or one of them with its steps. */
export function Runs({ flowId }: { readonly flowId: string }) {
  const { query } = usePlace();
  const open = query.get('run');
  return open === null ? (
    <RunList asked={{ id: flowId, limit: 50 }} />
  ) : (
    <RunDetail id={open} back={pathOfRuns(flowId)} />
  );
}

export function pathOfRuns(flowId: string): string {
  return `/flows/${encodeURIComponent(flowId)}?tab=runs`;
}

/** The input of `list_flow_runs`. */
export type RunsAsked = Readonly<{ id?: string | undefined; status?: string | undefined; limit?: number }>;

export function RunList({ asked }: { readonly asked: RunsAsked }) {
  const { rows, loading, error, more } = usePages<Run>('list_flow_runs', asked);
  useRenewed(rows.some(({ status }) => status === 'running' || status === 'queued'));
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0) {
    return loading ? (
      <Skeleton lines={4} />
    ) : (
      <Empty title="It has not run yet">Run it now, or wait for what starts it.</Empty>
    );
  }
  return (
    <Table
      label="Runs"
      columns={asked.id === undefined ? [...COLUMNS.slice(0, 1), FLOW, ...COLUMNS.slice(1)] : COLUMNS}
      rows={rows}
      keyOf={({ id }) => id}
      to={({ id, flowId }) => `${pathOfRuns(flowId)}&run=${encodeURIComponent(id)}`}
      onMore={more}
      loading={loading}
    />
  );
}

const FLOW = { id: 'flow', title: 'Flow', cell: ({ flowId }: Run) => <Ref id={flowId} /> };

const COLUMNS = [
  { id: 'when', title: 'Started', cell: ({ createdAt }: Run) => <Time at={createdAt} /> },
  { id: 'status', title: 'Status', cell: ({ status }: Run) => <Badge value={status} /> },
  {
    id: 'why',
    title: 'By',
    cell: ({ trigger }: Run) => trigger.by?.name ?? trigger.type ?? trigger.kind,
    spare: 2 as const,
  },
  {
    id: 'error',
    title: 'Error',
    cell: ({ error }: Run) => (error ? (error.message ?? error.code) : ''),
    spare: 2 as const,
  },
  {
    id: 'took',
    title: 'Took',
    cell: ({ startedAt, finishedAt }: Run) => duration(startedAt, finishedAt),
    end: true,
    spare: 1 as const,
  },
];
