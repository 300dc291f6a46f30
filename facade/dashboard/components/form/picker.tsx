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
  const { rows } = usePages<Row>(tool?.name, inputOf(tool));
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
  const known = rows.some((row) => idOf(row) === value || row.name === value);
  return (
    <select
      class="input"
      {...tied}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
    >
      <option value="">{tied.required ? text.choose : '–'}</option>
      {!known && value !== '' && <option value={value}>{value}</option>}
      {rows.map((row) => (
        <option key={idOf(row)} value={idOf(row)}>
          {String(row[ref.title] ?? idOf(row)).slice(0, 100)}
        </option>
      ))}
    </select>
  );
}

export function inputOf(tool: { readonly inputSchema: { readonly properties?: object } } | undefined): object {
  return tool?.inputSchema.properties && 'limit' in tool.inputSchema.properties ? { limit: 100 } : {};
}

function idOf(row: Row): string {
  return String(row.id ?? row.uid ?? '');
}
