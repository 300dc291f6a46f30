import type { Tied } from './field.tsx';

interface SuggestedProps {
  readonly value: string;
  readonly onChange: (value: string | undefined) => void;
  readonly tied: Tied;
  readonly options: readonly { readonly value: string; readonly label?: string | undefined }[];
}

/** A text that is typed, for which the usual ones are suggested. */
export function Suggested({ value, onChange, tied, options }: SuggestedProps) {
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
        {options.map((option) => (
          <option key={option.value} {...option} />
        ))}
      </datalist>
    </>
  );
}
