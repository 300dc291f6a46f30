import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { setQuery, useLocation } from '../router.ts';
import { Button } from './button.tsx';
import { FindInput } from './find-input.tsx';
import { type Option, Select } from './form/select.tsx';
import { type Kinds, RecordButton } from './record-button.tsx';
import { useRecordName } from './value.tsx';

/** What is looked for in a list. It stands in the address as `q`. */
export function FilterText({ label }: { readonly label: string }) {
  const { query } = useLocation();
  return <FindInput label={label} value={query.get('q') ?? ''} onType={(q) => setQuery({ q })} />;
}

/** An id or name by which a list is filtered. It stands in the address under its name. */
export function FilterId({ name, label }: { readonly name: string; readonly label: string }) {
  const { query } = useLocation();
  return (
    <input
      class={query.get(name) ? 'input filter-id set' : 'input filter-id'}
      placeholder={label}
      aria-label={label}
      value={query.get(name) ?? ''}
      onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value.trim() })}
    />
  );
}

type FilterChoiceProps = Readonly<{ name: string; label: string; options: readonly Option[] }>;

/** One of few values by which a list is filtered. It stands in the address under its name. */
export function FilterChoice({ name, label, options }: FilterChoiceProps) {
  const { query } = useLocation();
  const value = query.get(name) ?? '';
  return (
    <Select
      class={value ? 'filter-choice set' : 'filter-choice'}
      aria-label={label}
      value={value}
      none={label}
      options={options}
      onPick={(picked) => setQuery({ [name]: picked }, { replace: false })}
    />
  );
}

type FilterRecordProps = Readonly<{ name: string; label: string; kinds: Kinds }>;

/** A record by which a list is filtered. */
export function FilterRecord({ name, label, kinds }: FilterRecordProps) {
  const value = useLocation().query.get(name) ?? '';
  const known = useRecordName(value);
  const button = {
    class: value ? 'filter-choice set' : 'filter-choice',
    ...(value && { title: `${label}: ${known ?? value}` }),
  };
  return (
    <RecordButton
      kinds={kinds}
      value={value}
      button={button}
      onPick={(picked) => setQuery({ [name]: picked }, { replace: false })}
    >
      <span class={value ? 'visually-hidden' : undefined}>{value ? `${label}: ` : label}</span>
      {known ?? value}
    </RecordButton>
  );
}

interface FilterBarProps {
  /** What is looked for, which always stands there. */
  readonly find: ComponentChildren;
  /** How many of the others are set. */
  readonly set: number;
  readonly children: ComponentChildren;
}

/** The filters of a list. On a phone all but the first stand behind a button, which says how many are set. */
export function FilterBar({ find, set, children }: FilterBarProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="filters">
      {find}
      <span class="filter-toggle">
        <Button
          text={set > 0 ? `Filters (${set})` : 'Filters'}
          expands={{ id, isOpen }}
          onClick={() => setOpen(!isOpen)}
        />
      </span>
      <div id={id} class={isOpen ? 'filter-more open' : 'filter-more'}>
        {children}
      </div>
    </div>
  );
}
