import { useEffect, useRef, useState } from 'preact/hooks';
import { CallError, call, counted, number, renew, text } from '../app.ts';
import { Button, Dialog, showDialog, toast } from '../ui.ts';
import { idOf, type KindSpec, type Row, titleOf } from './spec.ts';

/** What is done to many records, one call each. */
export interface ManyWork {
  readonly spec: KindSpec;
  /** The tool that changes one of them. */
  readonly tool: string;
  /** `Deleting`, and `deleted` once it is done. */
  readonly words: Readonly<{ doing: string; done: string }>;
  /** Changes one. Resolves to the revision that it made, `deleted`, or undefined if nothing had to change. */
  readonly change: (row: Row) => Promise<Made | undefined>;
}

export type Made = number | 'deleted';

interface Outcome {
  readonly done: readonly Row[];
  readonly failed: readonly Readonly<{ row: Row; why: string }>[];
  /** Those whose turn did not come. */
  readonly left: readonly Row[];
  /** Why it ended early, where nobody asked it to. */
  readonly ended: string | undefined;
}

/** Calls that are under way at once, so that others of the server hardly wait. */
const AT_ONCE = 4;
const LONGEST_WAIT_SECONDS = 60;
/** So many failures are listed. */
const MOST_LISTED = 100;

/** Does it to all of them, unless the signal ends it. What is under way then still ends, and counts. */
async function runAll(
  rows: readonly Row[],
  work: (row: Row) => Promise<unknown>,
  { signal, onStep }: Readonly<{ signal: AbortSignal; onStep: (count: number) => void }>,
): Promise<Outcome> {
  const done: Row[] = [];
  const failed: { row: Row; why: string }[] = [];
  let next = 0;
  let ended: string | undefined;
  const runSome = async () => {
    while (next < rows.length && !signal.aborted && ended === undefined) {
      const row = rows[next] as Row; // below the length
      next += 1;
      try {
        await patiently(() => work(row), signal);
        done.push(row);
      } catch (error) {
        const why = whyOf(error);
        failed.push({ row, why });
        if (endsAll(error)) ended = why;
      }
      onStep(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runSome));
  return { done, failed, left: rows.slice(next), ended };
}

/** Waits where too many calls were made, as long as the server says. */
async function patiently(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'rate_limited' || signal.aborted) throw error;
      const seconds = Math.min(error.retryAfterSeconds ?? 1, LONGEST_WAIT_SECONDS);
      await waited(seconds * 1000, signal);
    }
  }
}

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((go) => {
    setTimeout(go, ms);
    signal.addEventListener('abort', () => go(), { once: true });
  });
}

/** Whether the others would fail as this one did: nobody answers, or the person did not confirm that it is them. */
function endsAll(error: unknown): boolean {
  return !(error instanceof CallError) || error.code === 'unreachable' || error.required?.freshSignIn === true;
}

function whyOf(error: unknown): string {
  if (error instanceof CallError && error.code === 'unreachable')
    return 'The server could not be reached, so this one may be changed or not.';
  if (error instanceof CallError && error.code === 'conflict')
    return `${error.message} Select it again to see what it is now.`;
  return error instanceof Error ? error.message : String(error);
}

/** Begins it, in a dialog that shows how far it is. `onEnd` is told the records that are as they were. */
export function runMany(work: ManyWork, rows: readonly Row[], onEnd: (left: readonly Row[]) => void): void {
  showDialog((close) => <ManyRun key={work.words.doing} {...{ work, rows, onEnd, close }} />);
}

interface ManyRunProps {
  readonly work: ManyWork;
  readonly rows: readonly Row[];
  readonly onEnd: (left: readonly Row[]) => void;
  readonly close: () => void;
}

function ManyRun({ work, rows, onEnd, close }: ManyRunProps) {
  const [count, setCount] = useState(0);
  const [outcome, setOutcome] = useState<Outcome>();
  const [cancel] = useState(() => new AbortController());
  const [stops, setStops] = useState(false);
  const made = useRef(new Map<Row, Made>());
  const { spec, words } = work;
  const said = (some: readonly Row[]) => counted(some.length, spec.words.one, spec.words.many);
  const undo = () => takeBack(work, [...made.current]);
  const mayUndo = () => spec.versions !== undefined && made.current.size > 0;
  useEffect(() => {
    const change = async (row: Row) => {
      const now = await work.change(row);
      if (now !== undefined) made.current.set(row, now);
    };
    void runAll(rows, change, { signal: cancel.signal, onStep: setCount }).then((found) => {
      renew(work.tool);
      onEnd([...found.failed.map(({ row }) => row), ...found.left]);
      if (found.failed.length + found.left.length > 0) return setOutcome(found);
      close();
      toast(
        <>
          {said(found.done)} {words.done}. {mayUndo() && <UndoMany undo={undo} />}
        </>,
      );
    });
  }, []);
  if (!outcome) {
    const stop = () => {
      setStops(true);
      cancel.abort();
    };
    return (
      <Dialog title={`${words.doing} ${said(rows)}`} onClose={stop} escapes={false}>
        <progress class="many-progress" aria-label={words.doing} value={count} max={rows.length} />
        <p role="status">{stops ? 'Stopping…' : `${number(count)} of ${number(rows.length)}`}</p>
        <div class="actions end">
          <Button text={text.cancel} busy={stops} onClick={stop} />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={`${said(outcome.done)} ${words.done}`} size="m" onClose={close}>
      {outcome.failed.length > 0 && (
        <>
          <p>{`${said(outcome.failed.map(({ row }) => row))} could not be ${words.done}:`}</p>
          <ul class="many-failed">
            {outcome.failed.slice(0, MOST_LISTED).map(({ row, why }) => (
              <li key={idOf(spec, row)}>
                <strong>{titleOf(spec, row)}</strong> <span class="quiet">{why}</span>
              </li>
            ))}
          </ul>
          {outcome.failed.length > MOST_LISTED && (
            <p class="quiet">And {number(outcome.failed.length - MOST_LISTED)} more.</p>
          )}
        </>
      )}
      {outcome.left.length > 0 && (
        <p>
          {said(outcome.left)} {outcome.left.length === 1 ? 'was' : 'were'} not begun
          {stops ? ', because you cancelled' : ''}. Whatever is not {words.done} stays selected.
        </p>
      )}
      <div class="actions end">
        {mayUndo() && <Button needs="restore_version" text="Undo" onClick={undo} />}
        <Button text={text.close} look="primary" onClick={close} />
      </div>
    </Dialog>
  );
}

function UndoMany({ undo }: { readonly undo: () => void }) {
  return <Button look="quiet" needs="restore_version" text="Undo" onClick={undo} />;
}

interface Version {
  readonly id: string;
  readonly revision: number;
  readonly kind: string;
}

/** Puts each record back to the state before what was done to it, unless somebody changed it since. Others are not touched. */
function takeBack({ spec }: ManyWork, made: readonly (readonly [Row, Made])[]): void {
  const changed = new Map(made);
  const change = async (row: Row) => {
    const about = { entityType: spec.versions, entityId: idOf(spec, row) };
    const { data } = await call<{ readonly data: readonly Version[] }>('list_versions', { ...about, limit: 2 });
    const [latest, before] = data;
    const was = changed.get(row);
    const isOurs = was === 'deleted' ? latest?.kind === 'delete' : latest?.revision === was;
    if (!latest || !isOurs) throw new CallError('restore_version', SINCE);
    if (!before || before.kind === 'delete') throw new CallError('restore_version', NOTHING_BEFORE);
    await call('restore_version', { ...about, versionId: before.id, expectedRevision: latest.revision });
    return undefined;
  };
  const work = { spec, tool: 'restore_version', words: { doing: 'Putting back', done: 'put back' }, change };
  runMany(
    work,
    made.map(([row]) => row),
    () => {},
  );
}

const SINCE = { code: 'changed_since', error: 'It was changed again since, so it stays as it is.' };
const NOTHING_BEFORE = { code: 'not_found', error: 'The state before is no longer kept.' };
