import { Field } from '../../components/form/field.tsx';
import { Picker } from '../../components/form/picker.tsx';
import { issueAt, type Members, type PartProps } from '../../components/form/state.ts';
import { Segments } from '../../components/tabs.tsx';
import { SUBJECTS } from './budget.ts';

/** Whose use is limited: a record of one of four kinds, picked by its name. */
export function SubjectControl(props: PartProps) {
  const { type = 'agent', id = '' } = (props.value ?? {}) as Members; // an object, as the schema has it
  const picked = SUBJECTS.find(({ value }) => value === type) ?? SUBJECTS[0];
  const issue = issueAt(props) ?? issueAt({ ...props, path: `${props.path}.id` });
  return (
    <fieldset class="frame">
      <legend>Owner</legend>
      <Segments
        label="Kind"
        value={picked.value}
        options={SUBJECTS}
        onChange={(value) => props.onChange({ type: value, id: '' })}
      />
      <Field
        label={picked.label}
        hint="What agents, flows and apps do for it counts too."
        needed={props.needed}
        issue={issue}
      >
        {(tied) => (
          <Picker
            key={picked.value}
            kind={picked.value}
            value={String(id)}
            onChange={(value) => props.onChange({ type: picked.value, id: value ?? '' })}
            tied={tied}
          />
        )}
      </Field>
    </fieldset>
  );
}
