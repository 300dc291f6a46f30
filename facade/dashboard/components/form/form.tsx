import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { JsonSchema } from '../../schema.ts';
import { text } from '../../text.ts';
import { useMay, useTool } from '../../tools.ts';
import { useAction } from '../action.tsx';
import { Button } from '../button.tsx';
import { ErrorBox } from '../error-box.tsx';
import { Empty, Skeleton } from '../small.tsx';
import { DraftNote, type DraftPlace, useDraft } from './draft.tsx';
import { MemberParts } from './groups.tsx';
import { FormForMissing } from './make-record.tsx';
import { Part } from './part.tsx';
import {
  changes,
  emptied,
  initial,
  isShown,
  issuesOf,
  type Members,
  type PartProps,
  withMadeName,
  withoutEmpty,
} from './state.ts';
import { type FormWords, inWords } from './words.ts';

export interface FormProps {
  /** The tool whose input the form is. */
  readonly tool: string;
  /** The record to change: only what differs is sent. Without it, all that was filled in. */
  readonly record?: Members | undefined;
  /** Members that are given anyway and not asked for, such as the id. */
  readonly given?: Members;
  /** Members that are neither asked for nor given. */
  readonly hidden?: readonly string[];
  /** More of them while these are the values. */
  readonly hiddenIn?: ((value: Members) => readonly string[]) | undefined;
  /** Members that few people need, below the others and folded. */
  readonly advanced?: readonly string[] | undefined;
  /** What people read at the fields, and the order of these. */
  readonly words?: FormWords | undefined;
  /** What holds where a member is left out, in words. */
  readonly inherited?: Readonly<Record<string, string>> | undefined;
  /** What a new form begins with. */
  readonly start?: Members;
  /** Controls of one's own, by member. */
  readonly own?: Readonly<Record<string, ComponentType<PartProps>>>;
  /** Below the fields: what the values come to. */
  readonly below?: (value: Members) => ComponentChildren;
  readonly action?: string;
  /** Calls the tool, mostly by `act`. What it throws is shown, at the fields as far as it says which. */
  readonly run: (input: Members) => Promise<unknown>;
  readonly onCancel?: () => void;
  /** Typing goes into the first field at once, except where that would open a keyboard on the screen. */
  readonly autoFocus?: boolean;
  /** Where what is filled in is kept until it is saved. */
  readonly draft?: DraftPlace | undefined;
  /** Shown beside the error, for example to resolve a conflict. */
  readonly onError?: (error: unknown, input: Members) => void;
}

/** The form that the input schema of a tool describes. The server is what validates. */
export function Form(props: FormProps) {
  const tool = useTool(props.tool);
  const may = useMay(props.tool);
  const { words } = props;
  const schema = useMemo(() => tool && (words ? inWords(tool.inputSchema, words) : tool.inputSchema), [tool, words]);
  if (!may) return <Empty title="You may not do this">It needs the right to call {props.tool}.</Empty>;
  if (!schema) return <Skeleton lines={5} />;
  return (
    <FormForMissing.Provider value={Form}>
      <FormOf {...props} schema={schema} />
    </FormForMissing.Provider>
  );
}

const ALWAYS_HIDDEN = ['expectedRevision'];

function awayOf({ given = {}, hidden = [], hiddenIn }: FormProps, value: Members): readonly string[] {
  return [...ALWAYS_HIDDEN, ...Object.keys(given), ...hidden, ...(hiddenIn?.(value) ?? [])];
}

/**
 * What is sent: of a record what differs, else all that was filled in and is still asked for. What the change itself
 * hides is cleared; what the record had hidden before stays as it is.
 */
function inputOf(props: FormProps & { readonly schema: JsonSchema }, before: Members, value: Members): Members {
  const { schema, record, given, hiddenIn } = props;
  const left = hiddenIn?.(value) ?? [];
  const asked = (of: Members) => Object.fromEntries(Object.entries(of).filter(([name]) => !left.includes(name)));
  if (!record) return { ...withoutEmpty(asked(value), schema), ...given };
  const wereAway = hiddenIn?.(before) ?? [];
  const gone = left.filter((name) => !wereAway.includes(name) && (before[name] ?? value[name]) !== undefined);
  return { ...asked(changes(before, value, schema)), ...emptied(gone, schema), ...given };
}

function FormOf(props: FormProps & { readonly schema: NonNullable<ReturnType<typeof useTool>>['inputSchema'] }) {
  const { schema, record, start, own, action, run, onCancel, onError, below } = props;
  const before = useRef<Members>(record ?? { ...(initial(schema) as Members), ...start });
  const [value, setValue] = useState<Members>(before.current);
  const away = awayOf(props, value);
  const { busy, error, run: attempt } = useAction();
  const draft = useDraft(props.draft, schema, before.current, value, setValue);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (props.autoFocus && matchMedia('(pointer: fine)').matches)
      form.current?.querySelector<HTMLElement>('.input')?.focus();
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    const input = inputOf(props, before.current, value);
    const done = await attempt(
      () => run(input),
      (problem) => onError?.(problem, input),
    );
    if (done) draft.end();
    else requestAnimationFrame(() => showFirstIssue(form.current));
  };
  const cancel = () => {
    draft.end();
    onCancel?.();
  };
  const issues = issuesOf(error);
  const names = Object.keys(schema.properties ?? {});
  const { advanced = [] } = props;
  const folded = names.filter((name) => advanced.includes(name) && !away.includes(name));
  const change = (next: Members) => setValue(record ? next : withMadeName(schema, value, next));
  const parts = { schema, path: '', value, issues, onChange: change, part: Part, own, defaults: props.inherited };
  return (
    <form class="form" ref={form} onSubmit={submit} onKeyDown={submitsByKey}>
      {props.draft && draft.offered && <DraftNote {...draft} offered={draft.offered} at={props.draft} />}
      <MemberParts {...parts} hidden={[...away, ...advanced]} />
      {folded.length > 0 && (
        <details class="advanced" open={issues.some(({ path }) => folded.some((name) => path.startsWith(name)))}>
          <summary>{text.advanced}</summary>
          <div class="form">
            <MemberParts {...parts} hidden={names.filter((name) => !folded.includes(name))} />
          </div>
        </details>
      )}
      {below?.(value)}
      {error !== undefined && (
        <FormError error={error} form={form} shownElsewhere={(path) => isShown(schema, path, away)} />
      )}
      <div class="actions form-actions">
        <Button text={action ?? text.save} type="submit" look="primary" busy={busy} />
        {onCancel && <Button text={text.cancel} onClick={cancel} />}
      </div>
    </form>
  );
}

/** Ctrl+Enter, from whatever field. */
function submitsByKey(event: KeyboardEvent & { readonly currentTarget: HTMLFormElement }): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  // A field has handled the key itself: Enter adds what was typed to a list.
  if (event.repeat || event.defaultPrevented) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

type FormErrorProps = Readonly<{
  error: unknown;
  form: { readonly current: HTMLFormElement | null };
  shownElsewhere: (path: string) => boolean;
}>;

/** What was wrong, unless every problem stands at its field. */
function FormError({ error, form, shownElsewhere }: FormErrorProps) {
  const [isAtFields, setAtFields] = useState(false);
  useLayoutEffect(() => {
    const said = [...(form.current?.querySelectorAll('.issue') ?? [])].map(({ textContent }) => textContent).join('\n');
    const issues = issuesOf(error);
    setAtFields(issues.length > 0 && issues.every(({ message }) => said.includes(message.replaceAll('`', ''))));
  }, [error]);
  return isAtFields ? null : <ErrorBox error={error} shownElsewhere={shownElsewhere} />;
}

/** Leads to the first field that is wrong, and opens what is folded around those that are. */
function showFirstIssue(form: HTMLFormElement | null): void {
  for (const folded of form?.querySelectorAll('details') ?? [])
    if (folded.querySelector('[aria-invalid], .issue')) folded.open = true;
  const first = form?.querySelector<HTMLElement>(
    '[aria-invalid], .wrong :is(input, textarea, select, button), .error-box',
  );
  first?.focus();
  first?.scrollIntoView({ block: 'nearest' });
}
