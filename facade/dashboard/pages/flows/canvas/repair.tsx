import { useState } from 'preact/hooks';
import type { FlowRun } from '../../../../../resources/flow-run.ts';
import { act, go, text, useAnswer, useMay } from '../../../app.ts';
import { issuesOf } from '../../../components/form/state.ts';
import type { Row } from '../../../kind/spec.ts';
import { Button, Dialog, ErrorBox, useAction } from '../../../ui.ts';
import { pathOfRun } from '../run-words.ts';
import { ChangedRights } from './changed-rights.tsx';
import { KnownData, samplesIn, useDataBefore } from './known-data.ts';
import { WhatRuns } from './retry-button.tsx';
import { StepSettings } from './step-settings.tsx';
import { type Step, stepsOf } from './words.ts';

/**
 * Repairs the step that failed and goes on with it, where the flow still has that step. Only who sees the content of the run may go on with it
 * in a flow that is theirs from then on, and only they are told why the step failed.
 */
export function RepairButton({ run, failed }: { readonly run: FlowRun; readonly failed: string }) {
  const sees = run.steps.some(({ id, error }) => id === failed && error?.message !== undefined);
  const may = useMay('retry_flow_run') && sees;
  const { data: flow } = useAnswer<Row>(may ? 'get_flow' : undefined, { id: run.flowId });
  const [begun, setBegun] = useState<Row>();
  const has = stepsOf(flow?.steps).some(({ id }) => id === failed);
  if (!may || !flow || !has) return null;
  return (
    <>
      <Button
        needs="update_flow"
        text="Repair and continue"
        icon="edit"
        look="primary"
        onClick={() => setBegun(flow)}
      />
      {begun && <RepairDialog {...{ run, failed }} flow={begun} onClose={() => setBegun(undefined)} />}
    </>
  );
}

interface RepairProps {
  readonly run: FlowRun;
  readonly failed: string;
  /** As it was when the repair was begun. */
  readonly flow: Row;
  readonly onClose: () => void;
}

function RepairDialog({ run, failed, flow, onClose }: RepairProps) {
  // Kept where the flow was saved and the run then did not begin.
  const [revision, setRevision] = useState(flow.revision);
  const steps = stepsOf(flow.steps);
  const at = steps.findIndex(({ id }) => id === failed);
  const [step, setStep] = useState<Step>(() => steps[at] ?? { id: failed, tool: '' });
  const known = useDataBefore(flow.trigger, steps.slice(0, at), samplesIn([run]));
  const { run: attempt, error, busy } = useAction();
  const submit = async (event: Event) => {
    event.preventDefault();
    await attempt(async () => {
      const next = steps.toSpliced(at, 1, step);
      const saved = await act<Row>('update_flow', { id: flow.id, steps: next, expectedRevision: revision });
      setRevision(saved.revision);
      const made = await act<FlowRun>('retry_flow_run', { id: run.id, fromStep: step.id });
      onClose();
      go(pathOfRun(made));
    });
  };
  const path = `steps[${at}]`;
  return (
    <Dialog title={`Repair ${failed}`} size="m" onClose={onClose}>
      <KnownData.Provider value={known}>
        <form class="form repair" onSubmit={submit}>
          <StepSettings step={step} path={path} issues={issuesOf(error)} onChange={setStep} />
          <div class="note">
            <p>The flow is saved with this step, and the run goes on with it.</p>
            <WhatRuns steps={steps} from={failed} />
          </div>
          <ChangedRights flow={flow} />
          {error !== undefined && <ErrorBox error={error} shownElsewhere={(place) => place.startsWith(`${path}.`)} />}
          <div class="actions form-actions">
            <Button text="Save and continue" type="submit" look="primary" busy={busy} />
            <Button text={text.cancel} onClick={onClose} />
          </div>
        </form>
      </KnownData.Provider>
    </Dialog>
  );
}
