import { useState } from 'preact/hooks';
import { Field } from './field.tsx';
import { hintOf, issueAt, type PartProps, titleOf } from './state.ts';

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
