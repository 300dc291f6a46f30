import { presets } from '../../../import/presets.ts';
import { Field } from '../../components/form/field.tsx';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { fittingPresets, lacksOf } from './preset-rows.ts';
import type { FileRow } from './rows.ts';

interface MadeByProps {
  readonly rows: readonly FileRow[];
  /** The name of a preset; undefined: columns are chosen one by one. */
  readonly value: string | undefined;
  readonly onChange: (preset: string | undefined) => void;
}

/** Whose export the file is, where its columns need no choosing. */
export function MadeBy({ rows, value, onChange }: MadeByProps) {
  const { fitting, others } = fittingPresets(rows);
  const lacks = value === undefined ? [] : lacksOf(value, rows);
  const about = value === undefined ? undefined : presets[value]?.about;
  return (
    <Field
      label="Made by"
      hint={about && `This is ${about}.`}
      issue={lacks.length > 0 ? `The file has no column ${lacks.join(', ')}: it is another one.` : undefined}
    >
      {(tied) => (
        <Select
          {...tied}
          value={value ?? ''}
          none="Another program: choose the columns"
          options={optionsOf([...fitting, ...others])}
          onPick={(name) => onChange(name || undefined)}
        />
      )}
    </Field>
  );
}
