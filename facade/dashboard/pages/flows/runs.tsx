import type { FlowRun } from '../../../../resources/flow-run.ts';
import { duration, useLocation, usePagedList } from '../../app.ts';
import { Badge, type Column, Empty, PagedTable, Ref, Time } from '../../ui.ts';
import { usePolling } from '../../use-polling.ts';
import { RepairButton } from './canvas/repair.tsx';
import { RunDetail } from './canvas/run-canvas.tsx';
import { isOpen, pathOfRun, pathOfRuns, starterOf } from './run-words.ts';

export function Runs({ flowId }: { readonly flowId: string }) {
  const { query } = useLocation();
  const open = query.get('run');
  return open === null ? (
    <RunList asked={{ id: flowId, limit: 50 }} />
  ) : (
    <RunDetail key={open} id={open} back={pathOfRuns(flowId)} repair={RepairButton} />
  );
}

/** The input of `list_flow_runs`. */
export type RunsAsked = Readonly<{ id?: string | undefined; status?: string | undefined; limit?: number }>;

export function RunList({ asked }: { readonly asked: RunsAsked }) {
  const pages = usePagedList<FlowRun>('list_flow_runs', asked);
  usePolling(pages.rows.some(isOpen));
  return (
    <PagedTable
      label="Runs"
      columns={asked.id === undefined ? [...COLUMNS.slice(0, 1), FLOW, ...COLUMNS.slice(1)] : COLUMNS}
      pages={pages}
      to={pathOfRun}
      none={<Empty title="It has not run yet">Run it now, or wait for what starts it.</Empty>}
    />
  );
}

const FLOW = { title: 'Flow', cell: ({ flowId }: FlowRun) => <Ref id={flowId} /> };

const COLUMNS: readonly Column<FlowRun>[] = [
  { title: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Status', cell: ({ status }) => <Badge value={status} /> },
  { title: 'By', cell: ({ trigger }) => starterOf(trigger), hidePriority: 2 },
  { title: 'Error', cell: ({ error }) => (error ? (error.message ?? error.code) : ''), hidePriority: 2 },
  {
    title: 'Took',
    cell: ({ startedAt, finishedAt }) => duration(startedAt, finishedAt),
    alignEnd: true,
    hidePriority: 1,
  },
];
