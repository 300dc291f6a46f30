import { useAnswer, wordOf } from '../../app.ts';
import { IssueText } from '../../components/form/field.tsx';
import { issueAt, type PartProps } from '../../components/form/state.ts';

/** Picks types of events, kind by kind of record. */
export function EventsControl(props: PartProps) {
  const { data } = useAnswer<{ readonly data: readonly { readonly type: string }[] }>('list_event_types');
  const types = (data?.data ?? []).map(({ type }) => type);
  const kinds = [...new Set(types.map(kindOf))];
  const groups = kinds.map((kind) => ({
    label: wordOf(kind.replaceAll('.', ' ')),
    options: types.filter((type) => kindOf(type) === kind).map((type) => ({ type, label: wordOf(whatOf(type)) })),
  }));
  return <Types {...props} legend="Events" groups={groups} />;
}

/** Picks what an operator should hear of. */
export function AlertsControl(props: PartProps) {
  const types = (props.schema.items?.enum ?? []).map(String);
  const options = types.map((type) => ({ type, label: wordOf(type.replace('.', ' ')) }));
  return <Types {...props} legend="Alerts" groups={[{ options }]} />;
}

function kindOf(type: string): string {
  return type.slice(0, type.lastIndexOf('.'));
}

function whatOf(type: string): string {
  return type.slice(kindOf(type).length + 1);
}

type Group = Readonly<{ label?: string; options: readonly { readonly type: string; readonly label: string }[] }>;

function Types(props: PartProps & { readonly legend: string; readonly groups: readonly Group[] }) {
  const { value, onChange, path, issues, legend, groups } = props;
  const picked: readonly string[] = Array.isArray(value) ? value.map(String) : [];
  const issue = issueAt(props) ?? issues.find((each) => each.path.startsWith(`${path}[`))?.message;
  const set = (type: string, is: boolean) => onChange(is ? [...picked, type] : picked.filter((each) => each !== type));
  return (
    <fieldset class={issue ? 'frame wrong' : 'frame'}>
      <legend>{legend}</legend>
      <div class="type-groups">
        {groups.map(({ label, options }) => (
          <div key={label} class="type-group">
            {label !== undefined && <span class="label type-kind">{label}</span>}
            {options.map((option) => (
              <label key={option.type} class="check">
                <input
                  type="checkbox"
                  aria-label={label === undefined ? option.label : `${label}: ${option.label}`}
                  checked={picked.includes(option.type)}
                  onChange={({ currentTarget }) => set(option.type, currentTarget.checked)}
                />
                <span>{option.label}</span>
              </label>
            ))}
          </div>
        ))}
      </div>
      <IssueText issue={issue} />
    </fieldset>
  );
}
