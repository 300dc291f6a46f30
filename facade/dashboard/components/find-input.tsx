import type { Ref } from 'preact';
import { Icon } from './icon.tsx';

interface FindInputProps {
  readonly label: string;
  readonly value: string;
  readonly onType: (typed: string) => void;
  /** Told where Enter is pressed, which then does nothing else. */
  readonly onEnter?: () => void;
  readonly input?: Ref<HTMLInputElement>;
}

/** A field for what is looked for. */
export function FindInput({ label, value, onType, onEnter, input = null }: FindInputProps) {
  return (
    <label class="filter-text">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        placeholder={label}
        aria-label={label}
        value={value}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !onEnter) return;
          event.preventDefault();
          onEnter();
        }}
      />
    </label>
  );
}
