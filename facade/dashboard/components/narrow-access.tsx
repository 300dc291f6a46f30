import { useEffect, useState } from 'preact/hooks';
import { act } from '../answer-cache.ts';
import { call } from '../client.ts';
import { counted } from '../format.ts';
import { useMay } from '../tools.ts';
import { useAction } from './action.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { DialogButton } from './dialog-button.tsx';
import { ErrorBox } from './error-box.tsx';
import { Select } from './form/select.tsx';
import { Empty, Mono, Skeleton } from './small.tsx';
import { toast } from './toasts.tsx';
import { NamedRef } from './value.tsx';

type Draft = Readonly<Record<string, unknown>>;

/** What `suggest_access` answers. */
interface Suggestion {
  readonly calls: number;
  readonly unusedTools: readonly string[];
  readonly smallest: Draft;
  readonly warnings: readonly string[];
}

interface Group {
  readonly tool: string;
  readonly count: number;
  readonly example: string;
}

/** What `replay_calls` answers. */
interface Replay {
  readonly allowed: number;
  readonly refused: readonly (Group & { readonly refusedBefore: number; readonly rule: string })[];
  readonly unknown: readonly (Group & { readonly reason: string })[];
}

interface NarrowAccessProps {
  /** As `suggest_access` names whose access it is. */
  readonly of: Readonly<Record<string, string>>;
  /** The member of the draft that lists what it may do. */
  readonly tools: 'allowedTools' | 'tools' | 'grants';
  /** Takes the draft in place of what it has. */
  readonly taking: {
    readonly needs: string;
    readonly action: string;
    readonly run: (smallest: Draft) => Promise<void>;
  };
}

/** Where a tool changes the rights of what has them. */
export function takingBy(tool: string, id: string): NarrowAccessProps['taking'] {
  const run = async (smallest: Draft) => {
    await act(tool, { id, ...smallest });
    toast('It may do now what it did, and no more.');
  };
  return { needs: tool, action: 'Take the smallest access', run };
}

const PERIODS = [
  { value: '7', label: 'By its calls of the last 7 days' },
  { value: '30', label: 'By its calls of the last 30 days' },
  { value: '90', label: 'By its calls of the last 90 days' },
  { value: '366', label: 'By its calls of the last year' },
];

/** Shows what was never used, tries the smallest access on the calls that were made, and takes it once the person has seen that. */
export function NarrowAccessButton(props: NarrowAccessProps) {
  return (
    <DialogButton text="Narrow access" icon="shield" needs="suggest_access">
      {(close) => <NarrowAccess {...props} onClose={close} />}
    </DialogButton>
  );
}

function NarrowAccess({ of, tools, taking, onClose }: NarrowAccessProps & { readonly onClose: () => void }) {
  const [days, setDays] = useState('30');
  const [found, setFound] = useState<{ readonly suggestion: Suggestion; readonly replay: Replay }>();
  const looking = useAction();
  const changing = useAction();
  const mayTake = useMay(taking.needs);
  useEffect(() => {
    setFound(undefined);
    const asked = { ...of, days: Number(days) };
    void looking.run(async () => {
      const suggestion = await call<Suggestion>('suggest_access', asked);
      const replay = await call<Replay>('replay_calls', { ...asked, draft: suggestion.smallest });
      setFound({ suggestion, replay });
    });
  }, [days]);
  const take = async () => {
    await taking.run(found?.suggestion.smallest ?? {});
    onClose();
  };
  const isIdle = found?.suggestion.calls === 0;
  return (
    <Dialog title="Narrow access" size="l" onClose={onClose}>
      <Select aria-label="By which calls" value={days} options={PERIODS} onPick={setDays} />
      {looking.error !== undefined && <ErrorBox error={looking.error} />}
      {looking.busy && <Skeleton lines={4} />}
      {isIdle && (
        <Empty title="No calls to go by">Nothing was called in this time, so nothing says what it needs.</Empty>
      )}
      {found && !isIdle && <Found {...found} kept={found.suggestion.smallest[tools] as readonly string[]} />}
      {changing.error !== undefined && <ErrorBox error={changing.error} />}
      <div class="actions end">
        <Button text="Cancel" onClick={onClose} />
        {mayTake && (
          <Button
            text={taking.action}
            look="primary"
            busy={changing.busy}
            disabled={!found || isIdle || found.suggestion.unusedTools.length === 0}
            onClick={() => void changing.run(take)}
          />
        )}
      </div>
    </Dialog>
  );
}

interface FoundProps {
  readonly suggestion: Suggestion;
  readonly replay: Replay;
  readonly kept: readonly string[];
}

function Found({ suggestion: { calls, unusedTools, warnings }, replay: { refused, unknown }, kept }: FoundProps) {
  const would = refused.filter(({ count, refusedBefore }) => count > refusedBefore);
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="note warn">
          {warning}
        </p>
      ))}
      <Names title="Never used" names={unusedTools} none="It used every tool that it has." />
      <Names title="Smallest access" names={kept} none="None." />
      <h3>Tried on {counted(calls, 'call')}</h3>
      {would.length === 0 && <p>None of them would have been refused.</p>}
      <Calls of={would.map(({ rule, ...group }) => ({ ...group, why: rule }))} />
      {unknown.length > 0 && <h3>Cannot be judged</h3>}
      <Calls of={unknown.map(({ reason, ...group }) => ({ ...group, why: reason }))} />
    </>
  );
}

function Calls({ of }: { readonly of: readonly (Group & { readonly why: string })[] }) {
  return (
    <>
      {of.map(({ tool, count, example, why }) => (
        <p key={`${tool} ${why}`}>
          <Mono>{tool}</Mono> <NamedRef id={example} name={counted(count, 'call')} path={`/audit?tool=${tool}`} />{' '}
          <span class="quiet">{why}</span>
        </p>
      ))}
    </>
  );
}

/** So many are shown; the others fold. */
const MOST_SHOWN = 12;

function Names({
  title,
  names,
  none,
}: {
  readonly title: string;
  readonly names: readonly string[];
  readonly none: string;
}) {
  const [first, others] = [names.slice(0, MOST_SHOWN), names.slice(MOST_SHOWN)];
  return (
    <>
      <h3>
        {title} {names.length > 0 && <span class="faint">{names.length}</span>}
      </h3>
      {names.length === 0 && <p class="quiet">{none}</p>}
      <Listed names={first} />
      {others.length > 0 && (
        <details>
          <summary>{counted(others.length, 'more tool')}</summary>
          <Listed names={others} />
        </details>
      )}
    </>
  );
}

function Listed({ names }: { readonly names: readonly string[] }) {
  return (
    <ul class="served">
      {names.map((name) => (
        <li key={name}>
          <Mono>{name}</Mono>
        </li>
      ))}
    </ul>
  );
}
