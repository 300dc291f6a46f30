import { duration, usePagedList, usePlace } from '../../app.ts';
import { Badge, type Column, Empty, PagedTable, Ref, Time } from '../../ui.ts';
import { useRenewed } from '../../use-renewed.ts';
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
  const pages = usePagedList<Run>('list_flow_runs', asked);
  useRenewed(pages.rows.some(({ status }) => status === 'running' || status === 'queued'));
  return (
    <PagedTable
      label="Runs"
      columns={asked.id === undefined ? [...COLUMNS.slice(0, 1), FLOW, ...COLUMNS.slice(1)] : COLUMNS}
      pages={pages}
      to={({ id, flowId }) => `${pathOfRuns(flowId)}&run=${encodeURIComponent(id)}`}
      none={<Empty title="It has not run yet">Run it now, or wait for what starts it.</Empty>}
    />
  );
}

const FLOW = { title: 'Flow', cell: ({ flowId }: Run) => <Ref id={flowId} /> };

const COLUMNS: readonly Column<Run>[] = [
  { title: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Status', cell: ({ status }) => <Badge value={status} /> },
  { title: 'By', cell: ({ trigger }) => trigger.by?.name ?? trigger.type ?? trigger.kind, spare: 2 },
  { title: 'Error', cell: ({ error }) => (error ? (error.message ?? error.code) : ''), spare: 2 },
  { title: 'Took', cell: ({ startedAt, finishedAt }) => duration(startedAt, finishedAt), end: true, spare: 1 },
];
