import { useMemo, useState } from 'preact/hooks';
import { presets } from '../../../import/presets.ts';
import { counted, useTool } from '../../app.ts';
import { Field } from '../../components/form/field.tsx';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { Button, ErrorBox } from '../../ui.ts';
import { Columns } from './columns.tsx';
import { columnsOf, guessed, type Mapping, mappedRows, membersOf } from './mapping.ts';
import { Outcome } from './outcome.tsx';
import { fittingPresets, lacksOf, type PresetRows, presetRows } from './preset-rows.ts';
import type { FileRow } from './rows.ts';
import { importRows, type Progress } from './run.ts';

/** A file whose rows are in the browser. */
export type ReadFile = Readonly<{ name: string; rows: readonly FileRow[] }>;

type FileImportProps = Readonly<{ file: ReadFile; onBusy: (busy: boolean) => void }>;

/** What the rows of a file are, what its columns become, and how far their import is. */
export function FileImport({ file, onBusy }: FileImportProps) {
  const schema = useTool('import_records')?.inputSchema.properties;
  const types = (schema?.type?.enum ?? []).map(String);
  const [made, setMade] = useState(() => fittingPresets(file.rows).fitting[0]);
  const preset = made === undefined ? undefined : presets[made];
  const [picked, setPicked] = useState(types.find((one) => file.name.toLowerCase().includes(one)) ?? 'users');
  const type = preset?.type ?? picked;
  const columns = useMemo(() => columnsOf(file.rows), [file]);
  const members = useMemo(() => membersOf(schema?.records?.description, type), [schema, type]);
  const [chosen, setChosen] = useState<Mapping>();
  const mapping = useMemo(() => chosen ?? guessed(columns.keys(), members), [chosen, columns, members]);
  const { run, stop, forgetCheck, progress, error } = useImport(onBusy);
  const lacks = made === undefined ? [] : lacksOf(made, file.rows);
  const begin = (dryRun: boolean) => {
    const byColumns = () => ({ rows: mappedRows(file.rows, mapping), leftOut: new Map<string, number>() });
    void run(type, preset ? presetRows(preset, file.rows) : byColumns(), dryRun);
  };
  const pick = (next: string, its: Mapping | undefined) => {
    setPicked(next);
    setChosen(its);
    forgetCheck();
  };
  const pickPreset = (name: string | undefined) => {
    setMade(name);
    forgetCheck();
  };
  return (
    <>
      <MadeBy rows={file.rows} value={made} onChange={pickPreset} />
      {!preset && <TypeField types={types} value={type} onChange={(next) => pick(next, undefined)} />}
      {file.rows.length === 0 && <p class="note warn">{`There are no rows in ${file.name}.`}</p>}
      {!stop && !preset && columns.size > 0 && (
        <Columns columns={columns} members={members} mapping={mapping} onChange={(its) => pick(type, its)} />
      )}
      <div class="actions">
        {stop ? (
          <Button text="Stop" icon="stop" onClick={stop} />
        ) : (
          <ImportButtons count={lacks.length > 0 ? 0 : file.rows.length} onRun={begin} />
        )}
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {progress && <Outcome progress={progress} running={stop !== undefined} />}
    </>
  );
}

type ImportButtonsProps = Readonly<{ count: number; onRun: (dryRun: boolean) => void }>;

function ImportButtons({ count, onRun }: ImportButtonsProps) {
  const disabled = count === 0;
  return (
    <>
      <Button
        text={`Import ${counted(count, 'row')}`}
        look="primary"
        icon="import"
        disabled={disabled}
        onClick={() => onRun(false)}
      />
      <Button text="Check first" disabled={disabled} onClick={() => onRun(true)} />
    </>
  );
}

/** One import or check at a time, which can be stopped. A check is forgotten when something else would be sent. */
function useImport(onBusy: (busy: boolean) => void) {
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<unknown>();
  const [control, setControl] = useState<AbortController>();
  const run = async (type: string, { rows, leftOut }: PresetRows, dryRun: boolean) => {
    const begun = new AbortController();
    setControl(begun);
    setError(undefined);
    onBusy(true);
    const onProgress = (now: Progress) => setProgress({ ...now, leftOut });
    await importRows(type, rows, { dryRun, signal: begun.signal, onProgress }).catch(setError);
    setControl(undefined);
    onBusy(false);
  };
  const forgetCheck = () => setProgress((now) => (now?.dryRun ? undefined : now));
  return { run, forgetCheck, stop: control && (() => control.abort()), progress, error };
}

type TypeFieldProps = Readonly<{ types: readonly string[]; value: string; onChange: (type: string) => void }>;

function TypeField({ types, value, onChange }: TypeFieldProps) {
  return (
    <Field label="Rows are">
      {(tied) => <Select {...tied} value={value} options={optionsOf(types)} onPick={onChange} />}
    </Field>
  );
}

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
      label="Exported from"
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
