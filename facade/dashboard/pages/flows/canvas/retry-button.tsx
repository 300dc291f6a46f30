import type { FlowRun } from '../../../../../resources/flow-run.ts';
import { act, go } from '../../../app.ts';
import { AskButton, Mono } from '../../../ui.ts';
import { pathOfRun } from '../run-words.ts';

/** Does the run again: from the step that failed, if there is one, or from the beginning. */
export function RetryButton({ run: { id, steps } }: { readonly run: FlowRun }) {
  const failed = steps.findLast(({ status }) => status === 'failed');
  const run = async () => {
    const made = await act<FlowRun>('retry_flow_run', { id, ...(failed && { fromStep: failed.id }) });
    go(pathOfRun(made));
  };
  const action = failed ? `From ${failed.id}` : 'All steps';
  return (
    <AskButton
      needs="retry_flow_run"
      text={failed ? 'Continue from here' : 'Run again'}
      icon="refresh"
      ask={{
        title: failed ? 'Continue from the step that failed?' : 'Run this again?',
        look: 'primary',
        action,
        run,
      }}
    >
      {failed ? (
        <WhatRuns steps={steps} from={failed.id} />
      ) : (
        <p>All steps run again with the same input. What they did before stays done.</p>
      )}
    </AskButton>
  );
}

type WhatRunsProps = Readonly<{ steps: readonly { readonly id: string }[]; from: string }>;

/** Which steps a run that continues does again, and which not. */
export function WhatRuns({ steps, from }: WhatRunsProps) {
  const at = steps.findIndex(({ id }) => id === from);
  const [before, again] = [steps.slice(0, at), steps.slice(at)];
  return (
    <>
      <p>
        Runs again, with the same input: <Names of={again} />.
      </p>
      <p>
        {before.length > 0 ? (
          <>
            Does not run again, its answer is kept: <Names of={before} />.
          </>
        ) : (
          'There is no step before it.'
        )}
      </p>
    </>
  );
}

function Names({ of }: { readonly of: readonly { readonly id: string }[] }) {
  return (
    <>
      {of.map(({ id }, index) => (
        <>
          {index > 0 && ', '}
          <Mono>{id}</Mono>
        </>
      ))}
    </>
  );
}
