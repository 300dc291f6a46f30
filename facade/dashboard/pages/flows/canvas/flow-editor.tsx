import { useState } from 'preact/hooks';
import type { FlowRun, FlowRunStep } from '../../../../../resources/flow-run.ts';
import { useAnswer } from '../../../app.ts';
import { IssueText } from '../../../components/form/field.tsx';
import { issueAt, type PartProps } from '../../../components/form/state.ts';
import type { Row } from '../../../kind/spec.ts';
import { Button } from '../../../ui.ts';
import { type Signature, signatureIn } from '../signature.tsx';
import { AgentSettings } from './agent-settings.tsx';
import { Canvas, type CanvasItem } from './canvas.tsx';
import { AgentCard, StepCard, TriggerCard } from './cards.tsx';
import { ChangedRights } from './changed-rights.tsx';
import { InsertMenu } from './insert-menu.tsx';
import { type Samples, useSamples } from './known-data.ts';
import { OpenStep } from './open-step.tsx';
import { missingBefore } from './step-changes.ts';
import { TestButton, type Tested, useTested } from './test-run.tsx';
import { TriggerSettings } from './trigger-settings.tsx';
import { AGENT, cardId, type Editing, indexIn, insertKey, keyOf, TRIGGER, useEditing } from './use-editing.ts';
import type { Step } from './words.ts';

/** The flow as cards that are changed, from what starts it to its last step. Stands in the form in place of all these members. */
export function FlowEditor(props: PartProps) {
  const { issues } = props;
  const [before] = useState(signatureIn(props.value));
  const editing = useEditing(props);
  const { steps, picked, removed, beside } = editing;
  const flowId = typeof beside.id === 'string' ? beside.id : undefined;
  const { data: flow } = useAnswer<Row>(flowId && 'get_flow', { id: flowId });
  const [tested, setTested] = useState<Tested>();
  const run = useTested(tested, steps);
  const samples = useSamples(flowId, run);
  const at = indexIn(picked, 'step');
  const named = at === undefined ? undefined : steps[at]?.id;
  return (
    <div class="canvas-field">
      {flow && <ChangedRights flow={flow} />}
      <Canvas
        label="What the flow does"
        look="edits"
        items={itemsOf(editing, props, run)}
        picked={picked}
        side={picked === undefined ? undefined : <Side {...{ editing, props, before, samples, run }} />}
        sideLabel={named === undefined ? (picked === TRIGGER ? 'What starts it' : 'Step') : `Settings of ${named}`}
        onMove={(from, to) => editing.move(from - 1, Math.max(1, to) - 1)}
      />
      {removed && (
        <p class="note canvas-undo" role="status">
          <span>{removed.step.id} is removed.</span>
          <Button text="Undo" onClick={editing.undo} />
        </p>
      )}
      <IssueText issue={issueAt({ path: 'steps', issues })} />
      <TestButton name={String(beside.name ?? '')} {...{ steps, run }} input={samples.input} onTested={setTested} />
    </div>
  );
}

function itemsOf(
  editing: Editing,
  { value: trigger, path, issues }: PartProps,
  run: FlowRun | undefined,
): CanvasItem[] {
  const { steps, picked, beside, toggle } = editing;
  const isWrong = (...places: string[]) => issues.some((one) => places.some((place) => one.path.startsWith(place)));
  const isAgent = typeof beside.agentId === 'string' && steps.length === 0;
  const keyAt = (key: string, next: number) => (picked === insertKey(next) ? insertKey(next) : key);
  const start = {
    key: keyAt(TRIGGER, 0),
    card: (
      <TriggerCard
        trigger={trigger}
        look={isWrong(path) ? 'wrong' : ''}
        picked={picked === TRIGGER}
        onPick={() => toggle(TRIGGER)}
      />
    ),
    after: !isAgent && <InsertHere editing={editing} at={0} />,
  };
  const agent = {
    key: AGENT,
    card: (
      <AgentCard
        agentId={String(beside.agentId)}
        prompt={beside.prompt}
        look={isWrong('agentId', 'prompt') ? 'wrong' : ''}
        picked={picked === AGENT}
        onPick={() => toggle(AGENT)}
      />
    ),
  };
  const cards = steps.map((step, index) => ({
    key: keyAt(keyOf(index), index + 1),
    card: (
      <EditedCard
        {...{ editing, step, index }}
        run={run?.steps.find(({ id }) => id === step.id)}
        isWrong={isWrong(`steps[${index}]`)}
      />
    ),
    after: <InsertHere editing={editing} at={index + 1} />,
  }));
  return [start, ...cards, ...(isAgent ? [agent] : [])];
}

interface EditedCardProps {
  readonly editing: Editing;
  readonly step: Step;
  readonly index: number;
  readonly isWrong: boolean;
  /** What became of it in a test. */
  readonly run: FlowRunStep | undefined;
}

function EditedCard({ editing, step, index, isWrong, run }: EditedCardProps) {
  const { steps, picked, toggle, move } = editing;
  const moveBy = (event: KeyboardEvent) => {
    const by = event.altKey ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : undefined;
    if (by === undefined) return;
    event.preventDefault();
    move(index, index + by);
  };
  return (
    <StepCard
      step={step}
      run={run}
      id={cardId(index)}
      look={isWrong || missingBefore(steps, index).length > 0 ? 'wrong' : ''}
      picked={picked === keyOf(index)}
      onPick={() => toggle(keyOf(index))}
      onKeyDown={moveBy}
    />
  );
}

function InsertHere({ editing, at }: { readonly editing: Editing; readonly at: number }) {
  const after = editing.steps[at - 1]?.id;
  return (
    <span class="canvas-insert">
      <Button
        look="quiet"
        icon="plus"
        label={after === undefined ? 'Add a step at the beginning' : `Add a step after ${after}`}
        onClick={() => editing.open(insertKey(at))}
      />
    </span>
  );
}

interface SideProps {
  readonly editing: Editing;
  readonly props: PartProps;
  readonly before: Signature | undefined;
  readonly samples: Samples;
  readonly run: FlowRun | undefined;
}

function Side({ editing, props, before, samples, run }: SideProps) {
  const { picked, steps, beside, onBeside } = editing;
  const at = indexIn(picked, 'step');
  const insertAt = indexIn(picked, 'insert');
  if (at !== undefined)
    return <OpenStep {...{ editing, at, samples, run }} issues={props.issues} trigger={props.value} />;
  if (insertAt !== undefined) {
    return (
      <InsertMenu
        onPick={(tool) => editing.insert(insertAt, tool)}
        onAgent={steps.length === 0 ? () => editing.setAgent('') : undefined}
        onClose={() => editing.open(undefined)}
      />
    );
  }
  if (picked === AGENT) {
    return (
      <AgentSettings
        {...{ beside, onBeside, samples }}
        issues={props.issues}
        onRemove={() => editing.setAgent(undefined)}
      />
    );
  }
  return (
    <>
      <h2>What starts it</h2>
      <TriggerSettings {...props} before={before} />
    </>
  );
}
