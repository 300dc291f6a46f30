import { type ListAnswer, usePages } from '../../pages-of.ts';
import { refs } from '../../refs.ts';
import { text } from '../../text.ts';
import { useTool } from '../../tools.ts';
import type { Tied } from './field.tsx';

export interface PickerProps {
  /** As in `refs.ts`. */
  readonly kind: string;
  readonly value: string;
  readonly onChange: (id: string | undefined) => void;
  readonly tied: Tied;
}

type Row = Readonly<Record<string, unknown>>;

export type { ListAnswer };

/** Picks a record by its name. Where the person cannot list such records, its id is typed. */
export function Picker({ kind, value, onChange, tied }: PickerProps) {
  const ref = refs[kind];
  const tool = useTool(ref?.list);
  const { rows, more } = usePages<Row>(tool?.name, inputOf(tool));
  if (!ref || !tool) {
    return (
      <input
        class="input"
        {...tied}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      />
    );
  }
  const options = rows.map((row) => ({ id: idOf(row), title: String(row[ref.title] ?? idOf(row)).slice(0, 100) }));
  if (more) return <Typed options={options} value={value} onChange={onChange} tied={tied} />;
  const known = options.some(({ id }) => id === value);
  return (
    <select
      class="input"
      {...tied}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
    >
      <option value="">{tied.required ? text.choose : '–'}</option>
      {!known && value !== '' && <option value={value}>{value}</option>}
      {options.map(({ id, title }) => (
        <option key={id} value={id}>
          {title}
        </option>
      ))}
    </select>
  );
}

interface TypedProps extends Omit<PickerProps, 'kind'> {
  readonly options: readonly { readonly id: string; readonly title: string }[];
}

/** Where there are too many to list: an id is typed, and the first ones are suggested by their names. */
function Typed({ options, value, onChange, tied }: TypedProps) {
  return (
    <>
      <input
        class="input"
        autocomplete="off"
        list={`${tied.id}-list`}
        {...tied}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      />
      <datalist id={`${tied.id}-list`}>
        {options.map(({ id, title }) => (
          <option key={id} value={id} label={title} />
        ))}
      </datalist>
    </>
  );
}

export function inputOf(tool: { readonly inputSchema: { readonly properties?: object } } | undefined): object {
  return tool?.inputSchema.properties && 'limit' in tool.inputSchema.properties ? { limit: 100 } : {};
}

function idOf(row: Row): string {
  return String(row.id ?? row.uid ?? '');
}
