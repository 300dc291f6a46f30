import { setQuery, usePlace } from '../router.ts';
import { type Kinds, RecordButton } from './record-button.tsx';
import { useRecordName } from './value.tsx';

type FilterRecordProps = Readonly<{ name: string; label: string; kinds: Kinds }>;

/** A record by which a list is filtered. */
export function FilterRecord({ name, label, kinds }: FilterRecordProps) {
  const value = usePlace().query.get(name) ?? '';
  const known = useRecordName(value);
  const button = {
    class: value ? 'filter-choice set' : 'filter-choice',
    ...(value && { title: `${label}: ${known ?? value}` }),
  };
  return (
    <RecordButton kinds={kinds} value={value} button={button} onPick={(picked) => setQuery({ [name]: picked })}>
      <span class={value ? 'only-heard' : undefined}>{value ? `${label}: ` : label}</span>
      {known ?? value}
    </RecordButton>
  );
}
