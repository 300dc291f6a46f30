import { AskButton } from '../components/action.tsx';
import { Json } from '../components/code.tsx';
import { Ref } from '../components/value.tsx';
import type { Run } from '../pages/flows/run.ts';
import { setQuery } from '../router.ts';
import { act } from '../store.ts';
import { useMay } from '../tools.ts';

/** Starts the flow of a run once more, with the same input, after a question. */
export function RunAgain({ run: { flowId, input, runAs, status } }: { readonly run: Run }) {
  const may = useMay('trigger_flow');
  if (!may || status === 'queued' || status === 'running') return null;
  const run = async () => {
    const { id } = await act<{ readonly id: string }>('trigger_flow', { id: flowId, ...(input && { input }) });
    setQuery({ run: id });
  };
  return (
    <div class="actions">
      <AskButton
        text="Run again"
        icon="play"
        ask={{ title: 'Run the flow again?', action: 'Run', look: 'primary', run }}
      >
        <p>
          <Ref id={flowId} /> runs now as it is today, with the rights of {runAs.name}
          {input ? ' and this input:' : ', without an input.'}
        </p>
        {input && <Json value={input} label="Input" />}
      </AskButton>
    </div>
  );
}
