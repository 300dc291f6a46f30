import { Field, TextField } from '../../components/form/field.tsx';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { CHOICES, type Fixed, memberLabel } from './rows.ts';

interface SameValuesProps {
  readonly type: string;
  /** Required members that no column becomes. */
  readonly missing: readonly string[];
  /** The member that tells the rows apart, which needs a column. */
  readonly keyed: string | undefined;
  readonly given: Fixed;
  readonly onChange: (fixed: Fixed) => void;
}

/** What every row needs and no column becomes: a value that holds for all rows. */
export function SameValues({ type, missing, keyed, given, onChange }: SameValuesProps) {
  if (missing.length === 0) return null;
  const needsColumn = missing.filter((name) => name === keyed);
  const give = (name: string, value: string) => onChange(new Map([...given, [name, value]]));
  return (
    <section aria-labelledby="same" class="import-same">
      <h2 id="same">Same value for all rows</h2>
      <p class="quiet">Every row needs these, and no column becomes them: choose columns above, or give values here.</p>
      {needsColumn.map((name) => (
        <p key={name} class="note warn" role="note">
          {memberLabel(name)} tells the rows apart: choose its column above.
        </p>
      ))}
      {missing
        .filter((name) => name !== keyed)
        .map((name) => (
          <SameValue
            key={name}
            name={name}
            choices={CHOICES[`${type}.${name}`]}
            value={given.get(name) ?? ''}
            onGive={(value) => give(name, value)}
          />
        ))}
    </section>
  );
}

type SameValueProps = Readonly<{
  name: string;
  choices: readonly string[] | undefined;
  value: string;
  onGive: (value: string) => void;
}>;

function SameValue({ name, choices, value, onGive }: SameValueProps) {
  if (!choices) return <TextField label={memberLabel(name)} needed value={value} onType={onGive} />;
  return (
    <Field label={memberLabel(name)} needed>
      {(tied) => <Select {...tied} value={value} none="Choose…" options={optionsOf(choices)} onPick={onGive} />}
    </Field>
  );
}
