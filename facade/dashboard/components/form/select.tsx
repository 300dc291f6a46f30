import { wordOf } from '../../format.ts';
import type { Tied } from './field.tsx';

export type Option = Readonly<{ value: string; label: string }>;

interface SelectProps extends Partial<Tied> {
  readonly class?: string;
  readonly disabled?: boolean;
  readonly 'aria-label'?: string;
  readonly value: string;
  readonly options: readonly Option[];
  /** The first choice, which picks nothing. */
  readonly none?: string | undefined;
  readonly onPick: (value: string) => void;
}

/** A choice of one of few values. */
export function Select({ value, options, none, onPick, ...rest }: SelectProps) {
  return (
    <select class="input" {...rest} value={value} onChange={({ currentTarget }) => onPick(currentTarget.value)}>
      {none !== undefined && <option value="">{none}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

/** Values of an enumeration as options, each in words. */
export function optionsOf(values: readonly (string | number)[] = [], wordsOf = wordOf): Option[] {
  return values.map((value) => ({ value: String(value), label: wordsOf(String(value)) }));
}
