import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId, useState } from 'preact/hooks';
import { text } from '../../text.ts';
import { hintOf, issueAt, type PartProps, titleOf } from './state.ts';

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly needed?: boolean | undefined;
  readonly issue?: string | undefined;
  /** Draws the control with the attributes that tie it to its words. */
  readonly children: (tied: Tied) => ComponentChildren;
}

/** Attributes of a control that belongs to a field. */
export interface Tied {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
  readonly required: boolean | undefined;
}

/** A control with its label, what to know of it, and what the server found wrong. */
export function Field({ label, hint, needed, issue, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, issue && `${id}-issue`].filter(Boolean).join(' ');
  return (
    <div class={issue ? 'field wrong' : 'field'}>
      <label class="label" for={id}>
        <span>{label}</span>
        {needed && <span class="needed">{text.needed}</span>}
      </label>
      {children({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': issue !== undefined || undefined,
        required: needed,
      })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <IssueText issue={issue} id={`${id}-issue`} />
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string | number;
  readonly onType: (value: string) => void;
  /** Further attributes of the input, such as its type. */
  readonly input?: InputHTMLAttributes<HTMLInputElement>;
}

/** A field for a short text. */
export function TextField({ value, onType, input, ...field }: TextFieldProps) {
  return (
    <Field {...field}>
      {(tied) => (
        <input
          class="input"
          {...tied}
          {...input}
          value={value}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** What the server found wrong, where there is something. */
export function IssueText({ issue, id }: Readonly<{ issue: string | undefined; id?: string }>) {
  return issue ? (
    <p class="issue" id={id} role="alert">
      {issue.replaceAll('`', '')}
    </p>
  ) : null;
}

/** A value of any shape, as JSON. What is no JSON yet is said at once and not given on. */
export function JsonText(props: PartProps) {
  const { value, onChange, needed, schema } = props;
  const [typed, setTyped] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const given = value === undefined ? '' : JSON.stringify(value, null, 2);
  const take = (json: string) => {
    setTyped(json);
    try {
      onChange(json.trim() === '' ? undefined : JSON.parse(json));
      setProblem(undefined);
    } catch {
      setProblem('This is not JSON yet.');
    }
  };
  return (
    <Field label={titleOf(props)} hint={hintOf(schema) ?? 'JSON'} needed={needed} issue={problem ?? issueAt(props)}>
      {(tied) => (
        <textarea
          class="input code-input"
          {...tied}
          rows={Math.min(14, Math.max(3, (typed ?? given).split('\n').length + 1))}
          spellcheck={false}
          value={typed ?? given}
          onInput={({ currentTarget }) => take(currentTarget.value)}
          onBlur={() => problem === undefined && setTyped(undefined)}
        />
      )}
    </Field>
  );
}
