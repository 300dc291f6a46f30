import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

interface AddTypedProps {
  readonly label: string;
  readonly placeholder: string;
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  /** What would be added; undefined if what is typed is nothing to add. */
  readonly read: (typed: string) => string | undefined;
  readonly onAdd: (value: string) => void;
  /** The button, told what adds and whether there is nothing to add. */
  readonly children: (add: () => void, isNothing: boolean) => ComponentChildren;
}

/** A text that is typed and then added to a list, by the button or by Enter. */
export function AddTyped({ label, placeholder, options, read, onAdd, children }: AddTypedProps) {
  const id = useId();
  const [typed, setTyped] = useState('');
  const value = read(typed);
  const add = () => {
    if (value === undefined) return;
    onAdd(value);
    setTyped('');
  };
  return (
    <div class="add-pattern">
      <input
        class="input"
        aria-label={label}
        placeholder={placeholder}
        list={options && id}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add();
        }}
      />
      {options && (
        <datalist id={id}>
          {options.map((option) => (
            <option key={option.value} {...option} />
          ))}
        </datalist>
      )}
      {children(add, value === undefined)}
    </div>
  );
}
