import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonSchema } from '../../schema.ts';
import { text } from '../../text.ts';
import { useMay, useTool } from '../../tools.ts';
import { useAction } from '../action.tsx';
import { Button } from '../button.tsx';
import { ErrorBox } from '../error-box.tsx';
import { Empty, Skeleton } from '../small.tsx';
import { MemberParts } from './groups.tsx';
import { Part } from './part.tsx';
import { changes, initial, isShown, issuesOf, type Members, type PartProps, withoutEmpty } from './state.ts';

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
  /** Shown beside the error, for example to resolve a conflict. */
  readonly onError?: (error: unknown, input: Members) => void;
}

/** The form that the input schema of a tool describes. The server is what validates. */
export function Form(props: FormProps) {
  const tool = useTool(props.tool);
  const may = useMay(props.tool);
  if (!may) return <Empty title="You may not do this">It needs the right to call {props.tool}.</Empty>;
  return tool ? <FormOf {...props} schema={tool.inputSchema} /> : <Skeleton lines={5} />;
}

const ALWAYS_HIDDEN = ['expectedRevision'];

function awayOf({ given = {}, hidden = [], hiddenIn }: FormProps, value: Members): readonly string[] {
  return [...ALWAYS_HIDDEN, ...Object.keys(given), ...hidden, ...(hiddenIn?.(value) ?? [])];
}

/** What is sent: of a record what differs, else all that was filled in and is still asked for. */
function inputOf(props: FormProps & { readonly schema: JsonSchema }, before: Members, value: Members): Members {
  const { schema, record, given, hiddenIn } = props;
  if (record) return { ...changes(before, value, schema), ...given };
  const left = hiddenIn?.(value) ?? [];
  const asked = Object.entries(value).filter(([name]) => !left.includes(name));
  return { ...withoutEmpty(Object.fromEntries(asked), schema), ...given };
}

function FormOf(props: FormProps & { readonly schema: NonNullable<ReturnType<typeof useTool>>['inputSchema'] }) {
  const { schema, record, start, own, action, run, onCancel, onError, below } = props;
  const before = useRef<Members>(record ?? { ...(initial(schema) as Members), ...start });
  const [value, setValue] = useState<Members>(before.current);
  const away = awayOf(props, value);
  const { busy, error, run: attempt } = useAction();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (props.autoFocus && matchMedia('(pointer: fine)').matches)
      form.current?.querySelector<HTMLElement>('.input')?.focus();
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    const input = inputOf(props, before.current, value);
    const done = await attempt(
      () => run(input),
      (problem) => onError?.(problem, input),
    );
    if (done) return;
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid], .error-box')?.focus());
  };
  const issues = issuesOf(error);
  const names = Object.keys(schema.properties ?? {});
  const { advanced = [] } = props;
  const folded = names.filter((name) => advanced.includes(name) && !away.includes(name));
  const parts = { schema, path: '', value, issues, onChange: setValue, part: Part, own };
  return (
    <form class="form" ref={form} onSubmit={submit}>
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
      {error !== undefined && <ErrorBox error={error} shownElsewhere={(path) => isShown(schema, path, away)} />}
      <div class="actions form-actions">
        <Button text={action ?? text.save} type="submit" look="primary" busy={busy} />
        {onCancel && <Button text={text.cancel} onClick={onCancel} />}
      </div>
    </form>
  );
}
