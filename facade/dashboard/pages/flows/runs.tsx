import type { FlowRun, FlowRunStep, FlowRunTrigger } from '../../../../resources/flow-run.ts';
import { act, at, duration, go, labelOf, useAnswer, useLocation, usePagedList, useTools } from '../../app.ts';
import {
  AskButton,
  Badge,
  CancelRun,
  type Column,
  Empty,
  ErrorBox,
  Json,
  LinkButton,
  Mono,
  PagedTable,
  Ref,
  Skeleton,
  Time,
} from '../../ui.ts';
import { usePolling } from '../../use-polling.ts';

export function Runs({ flowId }: { readonly flowId: string }) {
  const { query } = useLocation();
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
  const pages = usePagedList<FlowRun>('list_flow_runs', asked);
  usePolling(pages.rows.some(isOpen));
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

function isOpen({ status }: Pick<FlowRun, 'status'>): boolean {
  return status === 'running' || status === 'queued' || status === 'waiting';
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

/** The caller, or the schedule or event. */
function starterOf(trigger: FlowRunTrigger): string {
  if ('by' in trigger) return trigger.by.name;
  return trigger.kind === 'event' ? trigger.type : trigger.kind;
}

export function RunDetail({ id, back }: { readonly id: string; readonly back?: string | undefined }) {
  const { data, error } = useAnswer<FlowRun>('get_flow_run', { id });
  const underWay = data !== undefined && isOpen(data);
  usePolling(underWay);
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={6} />;
  return (
    <section class="overview" aria-label="Run">
      <header class="section-head">
        <span class="run-title">
          {back !== undefined && <LinkButton look="quiet" icon="back" label="All runs" to={back} />}
          <Badge value={data.status} />
          <Time at={data.createdAt} />
          <span class="quiet">{duration(data.startedAt, data.finishedAt)}</span>
        </span>
        {underWay ? (
          <CancelRun tool="cancel_flow_run" id={id}>
            A step under way finishes first. What finished steps did stays done; the steps after them do not run.
          </CancelRun>
        ) : (
          <RetryButton run={data} />
        )}
      </header>
      {data.error && <Failure {...data.error} />}
      <p class="quiet">
        Started by {starterOf(data.trigger)}, with the rights of {data.runAs.name}
        {data.flowRevision !== undefined && `, revision ${data.flowRevision} of the flow`}.
      </p>
      {Object.keys(data.input ?? {}).length > 0 && (
        <details>
          <summary>Input</summary>
          <Json value={data.input} label="Input" />
        </details>
      )}
      <ol class="timeline">
        {data.steps.map((step) => (
          <StepOfRun key={step.id} step={step} />
        ))}
      </ol>
    </section>
  );
}

/** Does the run again: from the step that failed, if there is one, or from the beginning. */
function RetryButton({ run: { id, flowId, steps } }: { readonly run: FlowRun }) {
  const failed = steps.find(({ status }) => status === 'failed');
  const run = async () => {
    const made = await act<FlowRun>('retry_flow_run', { id, ...(failed && { fromStep: failed.id }) });
    go(`${pathOfRuns(flowId)}&run=${encodeURIComponent(made.id)}`);
  };
  const action = failed ? `From ${failed.id}` : 'All steps';
  return (
    <AskButton
      needs="retry_flow_run"
      text="Run again"
      icon="refresh"
      ask={{ title: 'Run this again?', look: 'primary', action, run }}
    >
      {failed ? (
        <p>
          It goes on from the step <Mono>{failed.id}</Mono>, with the same input and what the steps before gave.
        </p>
      ) : (
        <p>All steps run again with the same input. What they did before stays done.</p>
      )}
    </AskButton>
  );
}

function Failure({ code, message }: NonNullable<FlowRun['error']>) {
  return (
    <p class="note alarm" role="note">
      {message ?? code} {message && <Mono>{code}</Mono>}
    </p>
  );
}

function StepOfRun({ step }: { readonly step: FlowRunStep }) {
  const tools = useTools();
  const { id, tool, status, attempts, error, approvalId, retryAt, startedAt, finishedAt, input, output } = step;
  return (
    <li class={`step-${status}`}>
      <details open={status === 'failed' || status === 'waiting'}>
        <summary>
          <span class="timeline-title">{tools?.get(tool)?.title ?? labelOf(tool)}</span> <Mono>{id}</Mono>{' '}
          <Badge value={status} />{' '}
          <span class="faint">
            {duration(startedAt, finishedAt)}
            {attempts > 1 && `, ${attempts} tries`}
          </span>
        </summary>
        {error && <Failure {...error} />}
        {approvalId !== undefined && (
          <p class="quiet">
            <a href={at(`/approvals/${approvalId}`)}>
              {status === 'waiting' ? 'It waits for somebody’s yes' : 'Who was asked, and what was decided'}
            </a>
          </p>
        )}
        {retryAt !== undefined && (
          <p class="quiet">
            The next try is due <Time at={retryAt} />.
          </p>
        )}
        {input && <Json value={input} label={`Input of ${id}`} />}
        {output && <Json value={output} label={`Output of ${id}`} />}
      </details>
    </li>
  );
}
