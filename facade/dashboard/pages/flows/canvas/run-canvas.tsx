import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import type { FlowRun, FlowRunStep } from '../../../../../resources/flow-run.ts';
import { at, duration, labelOf, useAnswer, useTool } from '../../../app.ts';
import { Badge, CancelRun, ErrorBox, Json, LinkButton, Mono, Skeleton, Time } from '../../../ui.ts';
import { usePolling } from '../../../use-polling.ts';
import { isOpen, starterOf } from '../run-words.ts';
import { Canvas } from './canvas.tsx';
import { Card, StepCard } from './cards.tsx';
import { RetryButton } from './retry-button.tsx';
import { triggerIcon } from './words.ts';

const TRIGGER = '@trigger';

interface RunDetailProps {
  readonly id: string;
  readonly back?: string | undefined;
  /** Repairs a step that failed, where the flow can be changed. */
  readonly repair?: ComponentType<{ readonly run: FlowRun; readonly failed: string }>;
}

/** One run on the canvas: what started it, and what became of each step. */
export function RunDetail({ id, back, repair: Repair }: RunDetailProps) {
  const { data, error } = useAnswer<FlowRun>('get_flow_run', { id });
  const underWay = data !== undefined && isOpen(data);
  usePolling(underWay);
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={6} />;
  const failed = data.steps.findLast(({ status }) => status === 'failed');
  return (
    <section class="overview canvas-page" aria-label="Run">
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
          <span class="page-actions">
            {Repair && failed && <Repair run={data} failed={failed.id} />}
            <RetryButton run={data} />
          </span>
        )}
      </header>
      {data.error && <Failure {...data.error} />}
      <p class="quiet">
        Started by {starterOf(data.trigger)}, with the rights of {data.runAs.name}
        {data.flowRevision !== undefined && `, revision ${data.flowRevision} of the flow`}.
      </p>
      <RunCards run={data} />
    </section>
  );
}

const STARTED: Readonly<Record<string, string>> = {
  manual: 'Started by hand',
  webhook: 'A webhook arrived',
  cron: 'Started by schedule',
  event: 'Started by event',
};

function RunCards({ run }: { readonly run: FlowRun }) {
  const [chosen, setChosen] = useState<string | null>();
  const asking = run.steps.findLast(({ status }) => status === 'failed' || status === 'waiting')?.id;
  const picked = chosen === undefined ? asking : chosen;
  const pick = (key: string) => setChosen(key === picked ? null : key);
  const open = run.steps.find(({ id }) => id === picked);
  const hasInput = Object.keys(run.input ?? {}).length > 0;
  const items = [
    {
      key: TRIGGER,
      card: (
        <Card
          icon={triggerIcon(run.trigger)}
          title={STARTED[run.trigger.kind] ?? run.trigger.kind}
          line={`${starterOf(run.trigger)}${hasInput ? ', with an input' : ''}`}
          picked={picked === TRIGGER}
          {...(hasInput && { onPick: () => pick(TRIGGER) })}
        />
      ),
    },
    ...run.steps.map((step) => ({
      key: step.id,
      card: (
        <StepCard
          step={{ id: step.id, tool: step.tool, ...(step.input && { arguments: step.input }) }}
          run={step}
          picked={picked === step.id}
          onPick={() => pick(step.id)}
        />
      ),
    })),
  ];
  const side = open ? <RanStep step={open} /> : picked === TRIGGER && <Json value={run.input} label="Input" />;
  return (
    <Canvas
      label="Steps of the run"
      items={items}
      picked={picked ?? undefined}
      side={side || undefined}
      sideLabel={open ? `Step ${open.id}` : 'Input'}
    />
  );
}

function RanStep({ step }: { readonly step: FlowRunStep }) {
  const { id, tool: name, status, error, approvalId, retryAt, input, output, startedAt, finishedAt } = step;
  const tool = useTool(name);
  return (
    <>
      <h2>
        {tool?.title ?? labelOf(name)} <Badge value={status} />
      </h2>
      {startedAt && (
        <p class="quiet">
          <Time at={startedAt} />
          {finishedAt && `, took ${duration(startedAt, finishedAt)}`}
        </p>
      )}
      {error && <Failure {...error} />}
      {status === 'pending' && <p class="quiet">Not started yet.</p>}
      {status === 'skipped' && <p class="quiet">Its condition did not hold, so it was left out.</p>}
      {approvalId !== undefined && (
        <p>
          <a href={at(`/approvals/${approvalId}`)}>
            {status === 'waiting' ? 'Waiting for approval' : 'Who was asked, and what was decided'}
          </a>
        </p>
      )}
      {retryAt !== undefined && (
        <p class="quiet">
          The next try is due <Time at={retryAt} />.
        </p>
      )}
      {input && (
        <>
          <h3>It was given</h3>
          <Json value={input} label={`Input of ${id}`} />
        </>
      )}
      {output && (
        <>
          <h3>It answered</h3>
          <Json value={output} label={`Output of ${id}`} />
        </>
      )}
      <p>
        <a href={at(`/tools/${name}`)}>About this tool</a>
      </p>
    </>
  );
}

function Failure({ code, message }: NonNullable<FlowRun['error']>) {
  return (
    <p class="note alarm" role="note">
      {message ?? code} {message && <Mono>{code}</Mono>}
    </p>
  );
}
