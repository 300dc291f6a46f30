import { act, duration, go, labelOf, useAnswer, useMay, useTools } from '../../app.ts';
import { AskButton, Badge, CancelRun, ErrorBox, Json, LinkButton, Mono, Skeleton, Time } from '../../ui.ts';
import { useRenewed } from '../../use-renewed.ts';
import type { Run, RunStep } from './run.ts';

/** One run: its steps on a timeline, why one failed, what each got and gave. */
export function RunDetail({ id, back }: { readonly id: string; readonly back?: string | undefined }) {
  const { data, error } = useAnswer<Run>('get_flow_run', { id });
  const underWay = data?.status === 'running' || data?.status === 'queued';
  useRenewed(underWay);
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
        {data.trigger.by
          ? `Started by ${data.trigger.by.name}`
          : `Started by ${data.trigger.type ?? data.trigger.kind}`}
        , with the rights of {data.runAs.name}
        {data.flowRevision !== undefined && `, revision ${data.flowRevision} of the flow`}.
      </p>
      {data.input && Object.keys(data.input).length > 0 && (
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
function RetryButton({ run: { id, flowId, steps } }: { readonly run: Run }) {
  const may = useMay('retry_flow_run');
  if (!may) return null;
  const failed = steps.find(({ status }) => status === 'failed');
  const retry = async (input: object) => {
    const { id: made } = await act<Run>('retry_flow_run', { id, ...input });
    go(`/flows/${encodeURIComponent(flowId)}?tab=runs&run=${encodeURIComponent(made)}`);
  };
  const ask = {
    title: 'Run this again?',
    look: 'primary' as const,
    action: failed ? `From ${failed.id}` : 'All steps',
    run: () => retry(failed ? { fromStep: failed.id } : {}),
  };
  return (
    <AskButton text="Run again" icon="refresh" ask={ask}>
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

function Failure({ code, message }: { readonly code: string; readonly message?: string }) {
  return (
    <p class="note alarm" role="note">
      {message ?? code} {message && <Mono>{code}</Mono>}
    </p>
  );
}

function StepOfRun({ step }: { readonly step: RunStep }) {
  const tools = useTools();
  const { id, tool, status, attempts, error, retryAt, startedAt, finishedAt, input, output } = step;
  return (
    <li class={`step-${status}`}>
      <details open={status === 'failed'}>
        <summary>
          <span class="timeline-title">{tools?.get(tool)?.title ?? labelOf(tool)}</span> <Mono>{id}</Mono>{' '}
          <Badge value={status} />{' '}
          <span class="faint">
            {duration(startedAt, finishedAt)}
            {attempts > 1 && `, ${attempts} tries`}
          </span>
        </summary>
        {error && <Failure {...error} />}
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
