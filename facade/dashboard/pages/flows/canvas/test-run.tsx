import { useState } from 'preact/hooks';
import type { FlowRun } from '../../../../../resources/flow-run.ts';
import { act, call, text, useAnswer, useMay, useTools } from '../../../app.ts';
import { JsonText } from '../../../components/form/field.tsx';
import type { Members } from '../../../components/form/state.ts';
import { Badge, Button, Dialog, ErrorBox, useAction } from '../../../ui.ts';
import { usePolling } from '../../../use-polling.ts';
import { isOpen } from '../run-words.ts';
import type { Step } from './words.ts';

/** The last test of what is on the canvas: its run, and the steps as they were tried. */
export interface Tested {
  readonly runId: string;
  readonly steps: string;
}

/** The run of the last test while the steps are as they were tried. */
export function useTested(tested: Tested | undefined, steps: readonly Step[]): FlowRun | undefined {
  const isSame = tested !== undefined && tested.steps === JSON.stringify(steps);
  const { data } = useAnswer<FlowRun>(isSame ? 'get_flow_run' : undefined, { id: tested?.runId });
  usePolling(data !== undefined && isOpen(data));
  return isSame ? data : undefined;
}

interface TestButtonProps {
  readonly name: string;
  readonly steps: readonly Step[];
  /** What the flow was given the last time. */
  readonly input: unknown;
  readonly run: FlowRun | undefined;
  readonly onTested: (tested: Tested) => void;
}

/** Tries the steps as they are on the canvas, before they are saved. */
export function TestButton(props: TestButtonProps) {
  const [asks, setAsks] = useState(false);
  const may = [useMay('create_flow'), useMay('trigger_flow'), useMay('delete_flow')].every(Boolean);
  if (!may || props.steps.length === 0) return null;
  return (
    <div class="canvas-test">
      <Button text="Test these steps" icon="play" onClick={() => setAsks(true)} />
      {props.run && (
        <span role="status">
          Test <Badge value={props.run.status} /> {props.run.error?.message}
        </span>
      )}
      {asks && <TestDialog {...props} onClose={() => setAsks(false)} />}
    </div>
  );
}

function TestDialog({ name, steps, input, onTested, onClose }: TestButtonProps & { readonly onClose: () => void }) {
  const [given, setGiven] = useState<unknown>(input ?? {});
  const { run, error, busy } = useAction();
  const test = async () => {
    const done = await run(async () => {
      const runId = await tryOut(
        `Test of ${name}`.slice(0, 120),
        steps,
        given as Members /* or the server says that it is none */,
      );
      onTested({ runId, steps: JSON.stringify(steps) });
    });
    if (done) onClose();
  };
  return (
    <Dialog title="Test these steps" size="m" onClose={onClose}>
      <p>They run once as they are on the canvas, with your rights. The flow is not saved.</p>
      <Effects steps={steps} />
      <JsonText
        name="input"
        path="input"
        schema={{
          title: 'Sample input (JSON)',
          description: input === undefined ? 'What the trigger would give.' : 'As the last run was given it.',
        }}
        needed={false}
        value={given}
        issues={[]}
        onChange={setGiven}
      />
      {error !== undefined && <ErrorBox error={error} />}
      <div class="actions">
        <Button text="Test now" look="primary" busy={busy} onClick={() => void test()} />
        <Button text={text.cancel} onClick={onClose} />
      </div>
    </Dialog>
  );
}

/** What the test changes or sends for real. */
function Effects({ steps }: { readonly steps: readonly Step[] }) {
  const tools = useTools();
  const real = steps.filter(({ tool }) => tools?.get(tool)?.annotations?.readOnlyHint !== true);
  if (real.length === 0) return <p class="note">All steps only read: nothing is changed or sent.</p>;
  const named = real.map(({ tool, id }) => `${tools?.get(tool)?.title ?? tool} (${id})`);
  return <p class="note warn">This really happens: {named.join(', ')}.</p>;
}

const LOOKS = 300;
const PAUSE_MS = 200;

/** Runs the steps as a flow of their own, which is deleted as soon as the run has all it needs. */
async function tryOut(name: string, steps: readonly Step[], input: Members): Promise<string> {
  const flow = await act<{ id: string }>('create_flow', { name, steps, trigger: { kind: 'manual' } });
  try {
    const { id } = await act<FlowRun>('trigger_flow', { id: flow.id, input });
    for (let looks = 0; looks < LOOKS; looks += 1) {
      const { status } = await call<FlowRun>('get_flow_run', { id });
      if (status !== 'queued') break;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return id;
  } finally {
    await act('delete_flow', { id: flow.id });
  }
}
