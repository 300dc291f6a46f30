import { usePages } from '../../pages-of.ts';
import { refs, titleOf } from '../../refs.ts';
import { text } from '../../text.ts';
import { useTool } from '../../tools.ts';
import type { Tied } from './field.tsx';
import { Suggested } from './suggested.tsx';

export interface PickerProps {
  /** As in `refs.ts`. */
  readonly kind: string;
  readonly value: string;
  readonly onChange: (id: string | undefined) => void;
  readonly tied: Tied;
}

type Row = Readonly<Record<string, unknown>>;

/** Picks a record by its name. Where the person cannot list such records, its id is typed. */
export function Picker({ kind, value, onChange, tied }: PickerProps) {
  const records = useRecords(kind);
  if (!records) {
    return (
      <input
        class="input"
        {...tied}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      />
    );
  }
  const { options, more } = records;
  // Where there are too many to list, an id is typed, and the first ones are suggested by their names.
  if (more) return <Suggested {...{ options, value, onChange, tied }} />;
  const known = options.some((option) => option.value === value);
  return (
    <select
      class="input"
      {...tied}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
    >
      <option value="">{tied.required ? text.choose : '–'}</option>
      {!known && value !== '' && <option value={value}>{value}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

export interface Records {
  readonly options: readonly { readonly value: string; readonly label: string }[];
  /** Loads further ones; undefined where that is all. */
  readonly more: (() => void) | undefined;
}

/** The records of a kind by id and name, as many as are loaded. Undefined where the person cannot list them. */
export function useRecords(kind: string): Records | undefined {
  const ref = refs[kind];
  const tool = useTool(ref?.list);
  const pages = tool?.inputSchema.properties && 'limit' in tool.inputSchema.properties;
  const { rows, more } = usePages<Row>(tool?.name, pages ? { limit: 100 } : {});
  if (!ref || !tool) return undefined;
  return {
    options: rows.map((row) => ({ value: idOf(row), label: titleOf(ref, row) ?? idOf(row) })),
    more,
  };
}

function idOf(row: Row): string {
  return String(row.id ?? row.uid ?? '');
}
