import { labelOf } from '../../format.ts';
import { useRecords } from '../../records.ts';
import { text } from '../../text.ts';
import { RecordButton } from '../record-button.tsx';
import { useRecordName } from '../value.tsx';
import type { Tied } from './field.tsx';
import { MakeRecord } from './make-record.tsx';

interface PickerProps {
  /** As in `kinds.ts`. */
  readonly kind: string;
  readonly value: string;
  readonly onChange: (id: string | undefined) => void;
  readonly tied: Tied;
  readonly inherited?: string | undefined;
}

/** Picks a record by its name. Where the person cannot list such records, its id is typed. */
export function Picker({ kind, value, onChange, tied, inherited }: PickerProps) {
  const records = useRecords(kind);
  const known = useRecordName(value);
  const { required, ...button } = tied;
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
  const listed = records.options.find((option) => option.value === value);
  return (
    <RecordButton
      kinds={{ [kind]: labelOf(kind) }}
      value={value}
      onPick={(id) => onChange(id || undefined)}
      make={(typed, close) => <MakeRecord kind={kind} typed={typed} onBegin={close} onMade={onChange} />}
      button={{ ...button, class: 'input record-input', role: 'combobox', 'aria-required': required }}
    >
      {listed?.label ?? known ?? (value || (required ? text.choose : (inherited ?? text.none)))}
    </RecordButton>
  );
}
