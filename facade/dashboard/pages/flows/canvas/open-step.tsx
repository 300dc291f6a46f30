import type { FlowRun, FlowRunStep } from '../../../../../resources/flow-run.ts';
import { at as pathAt } from '../../../app.ts';
import type { PartProps } from '../../../components/form/state.ts';
import { Button, Json } from '../../../ui.ts';
import { KnownData, type Samples, useDataBefore } from './known-data.ts';
import { missingBefore } from './step-changes.ts';
import { StepSettings } from './step-settings.tsx';
import type { Editing } from './use-editing.ts';

interface OpenStepProps extends Pick<PartProps, 'issues'> {
  readonly editing: Editing;
  readonly trigger: unknown;
  readonly at: number;
  readonly samples: Samples;
  /** Of the last test. */
  readonly run: FlowRun | undefined;
}

/** The settings of a step, and what can be done with it. */
export function OpenStep({ editing, trigger, issues, at, samples, run }: OpenStepProps) {
  const { steps } = editing;
  const known = useDataBefore(trigger, steps.slice(0, at), samples);
  const missing = missingBefore(steps, at);
  const step = steps[at];
  if (!step) return null;
  return (
    <KnownData.Provider value={known}>
      <header class="section-head">
        <h2>Step {at + 1}</h2>
        <StepButtons editing={editing} at={at} />
      </header>
      {missing.length > 0 && (
        <p class="note warn">It takes data of {missing.join(', ')}, which is no step before this one.</p>
      )}
      <TestedStep step={run?.steps.find(({ id }) => id === step.id)} />
      <StepSettings step={step} path={`steps[${at}]`} issues={issues} onChange={(next) => editing.change(at, next)} />
    </KnownData.Provider>
  );
}

function TestedStep({ step }: { readonly step: FlowRunStep | undefined }) {
  if (!step) return null;
  const { error, output, approvalId, status } = step;
  return (
    <>
      {error && <p class="note alarm">{error.message ?? error.code}</p>}
      {approvalId !== undefined && status === 'waiting' && (
        <p>
          <a href={pathAt(`/approvals/${approvalId}`)}>Waiting for approval</a>
        </p>
      )}
      {output && (
        <details>
          <summary>Its answer in the test</summary>
          <Json value={output} label={`Answer of ${step.id}`} />
        </details>
      )}
    </>
  );
}

function StepButtons({ editing, at }: Pick<OpenStepProps, 'editing' | 'at'>) {
  const isLast = at === editing.steps.length - 1;
  return (
    <span class="page-actions">
      <Button look="quiet" icon="up" label="Move up" disabled={at === 0} onClick={() => editing.move(at, at - 1)} />
      <Button look="quiet" icon="down" label="Move down" disabled={isLast} onClick={() => editing.move(at, at + 1)} />
      <Button look="quiet" icon="copy" label="Duplicate" onClick={() => editing.duplicate(at)} />
      <Button look="quiet" icon="trash" label="Remove step" onClick={() => editing.remove(at)} />
    </span>
  );
}
