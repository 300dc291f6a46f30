import type { Message } from '../../../../resources/message.ts';
import { useAnswer } from '../../app.ts';
import { DialogButton } from '../../components/dialog-button.tsx';
import { UndoButton } from '../../components/undo.tsx';
import { Button, Dialog, ErrorBox, Link, Skeleton } from '../../ui.ts';
import { RunInput } from '../runs/given.tsx';
import type { ShownRun } from '../runs/spans.ts';
import { Trace } from '../runs/trace.tsx';
import { Sources } from './sources.tsx';

type Evidence = Readonly<{ message: Message; run?: ShownRun }>;

/** What an answer rests on, and the way to take back what its run changed. */
export function WhyButton({ messageId }: { readonly messageId: string }) {
  return (
    <DialogButton text="Why?" look="quiet" needs="explain_answer">
      {(close) => <Why messageId={messageId} onClose={close} />}
    </DialogButton>
  );
}

function Why({ messageId, onClose }: { readonly messageId: string; readonly onClose: () => void }) {
  const { data, error } = useAnswer<Evidence>('explain_answer', { messageId });
  return (
    <Dialog title="Why it said that" size="l" onClose={onClose}>
      {error ? <ErrorBox error={error} /> : data ? <Rests {...data} /> : <Skeleton lines={6} />}
      <div class="actions end">
        {data?.run && data.run.status !== 'running' && (
          <UndoButton by={{ runId: data.run.id }} since={data.run.createdAt} />
        )}
        <Button text="Close" onClick={onClose} />
      </div>
    </Dialog>
  );
}

function Rests({ message: { citations = [] }, run }: Evidence) {
  return (
    <>
      {citations.length > 0 && (
        <>
          <h3>Sources</h3>
          <Sources citations={citations} />
        </>
      )}
      {run ? (
        <>
          <h3>What it was given</h3>
          <RunInput run={run} />
          <h3>What it did</h3>
          <Trace run={run} />
          <p>
            <Link to={`/runs/${encodeURIComponent(run.id)}`}>The whole run</Link>
          </p>
        </>
      ) : (
        <p class="quiet">Its run is not kept any more, or is not yours to see.</p>
      )}
    </>
  );
}
