import { useEffect, useState } from 'preact/hooks';
import { HOUR_MS } from '../../../resources/durations.ts';
import { act } from '../answer-cache.ts';
import { call } from '../client.ts';
import { counted, wordOf } from '../format.ts';
import { useAction } from './action.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { DialogButton } from './dialog-button.tsx';
import { Diff, type DiffAnswer } from './diff.tsx';
import { ErrorBox } from './error-box.tsx';
import { Select } from './form/select.tsx';
import { Empty, Mono, Skeleton } from './small.tsx';
import { toast } from './toasts.tsx';
import { NamedRef, Ref } from './value.tsx';

interface Subject {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
}

/** What `undo_changes` answers. */
interface Undoing {
  readonly undone: readonly (Subject & { readonly to: number; readonly diff?: DiffAnswer })[];
  readonly left: readonly (Subject & { readonly why: string })[];
  readonly otherEffects?: {
    readonly calls: readonly { readonly tool: string; readonly calls: number; readonly auditId: string }[];
    readonly complete: boolean;
  };
}

interface UndoButtonProps {
  /** As `undo_changes` names whose changes they are. */
  readonly by: Readonly<Record<string, string>>;
  /** Undefined: the person chooses how far back. */
  readonly since?: string;
}

const PERIODS = [
  { value: '1', label: 'The last hour' },
  { value: '24', label: 'The last 24 hours' },
  { value: '168', label: 'The last 7 days' },
  { value: '720', label: 'The last 30 days' },
];

/** Shows what would be undone, and undoes it once the person has seen that. */
export function UndoButton(props: UndoButtonProps) {
  return (
    <DialogButton text="Undo changes" icon="refresh" needs="undo_changes">
      {(close) => <UndoDialog {...props} onClose={close} />}
    </DialogButton>
  );
}

function UndoDialog({ by, since, onClose }: UndoButtonProps & { readonly onClose: () => void }) {
  const [hours, setHours] = useState('24');
  const [shown, setShown] = useState<{ readonly input: object; readonly found: Undoing }>();
  const looking = useAction();
  const undoing = useAction();
  useEffect(() => {
    setShown(undefined);
    const input = { by, since: since ?? new Date(Date.now() - Number(hours) * HOUR_MS).toISOString() };
    void looking.run(async () =>
      setShown({ input, found: await call<Undoing>('undo_changes', { ...input, dryRun: true }) }),
    );
  }, [hours]);
  const undo = async () => {
    const { undone } = await act<Undoing>('undo_changes', { ...shown?.input });
    toast(`${counted(undone.length, 'record')} put back.`);
    onClose();
  };
  const count = shown?.found.undone.length ?? 0;
  return (
    <Dialog title="Undo changes" size="l" onClose={onClose}>
      {since === undefined && <Select aria-label="Changes of" value={hours} options={PERIODS} onPick={setHours} />}
      {looking.error !== undefined && <ErrorBox error={looking.error} />}
      {looking.busy && <Skeleton lines={4} />}
      {shown && <Found {...shown.found} />}
      {undoing.error !== undefined && <ErrorBox error={undoing.error} />}
      <div class="actions end">
        <Button text="Cancel" onClick={onClose} />
        <Button
          text={count > 0 ? `Undo in ${counted(count, 'record')}` : 'Undo'}
          look="primary"
          busy={undoing.busy}
          disabled={count === 0}
          onClick={() => void undoing.run(undo)}
        />
      </div>
    </Dialog>
  );
}

function Found({ undone, left, otherEffects: { calls: others, complete } = { calls: [], complete: true } }: Undoing) {
  if (undone.length + left.length + others.length === 0)
    return <Empty title="Nothing to undo">No record was changed, or all are as they were.</Empty>;
  return (
    <>
      {undone.length > 0 && <h3>Will be put back</h3>}
      {undone.map(({ diff, to, ...subject }) => (
        <details key={subject.id} class="called">
          <summary>
            <Name {...subject} /> <span class="faint">{to === 0 ? 'is deleted again' : `as in revision ${to}`}</span>
          </summary>
          <div class="called-body">{diff ? <Diff diff={diff} /> : <p class="quiet">Too long to be shown here.</p>}</div>
        </details>
      ))}
      {left.length > 0 && <h3>Stays as it is</h3>}
      {left.map(({ why, ...subject }) => (
        <p key={subject.id}>
          <Name {...subject} /> <span class="quiet">{why}</span>
        </p>
      ))}
      {others.length > 0 && <h3>Was done too, and remains</h3>}
      {others.map(({ tool, calls, auditId }) => (
        <p key={tool}>
          <Mono>{tool}</Mono> <NamedRef id={auditId} name={counted(calls, 'call')} path={`/audit?tool=${tool}`} />
        </p>
      ))}
      {!complete && <p class="quiet">And there were more calls than can be looked at here; the audit log has all.</p>}
    </>
  );
}

function Name({ type, id, name }: Subject) {
  return (
    <>
      {wordOf(type)} {name === undefined ? <Ref id={id} /> : <strong>{name}</strong>}
    </>
  );
}
