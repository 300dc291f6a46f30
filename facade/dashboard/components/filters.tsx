import { setQuery, useLocation } from '../router.ts';
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
      onPick={(picked) => setQuery({ [name]: picked })}
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
    <RecordButton kinds={kinds} value={value} button={button} onPick={(picked) => setQuery({ [name]: picked })}>
      <span class={value ? 'visually-hidden' : undefined}>{value ? `${label}: ` : label}</span>
      {known ?? value}
    </RecordButton>
  );
}
