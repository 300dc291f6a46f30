import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ErrorBox } from '../../components/error-box.tsx';
import { Field } from '../../components/form/field.tsx';
import { counted, wordOf } from '../../format.ts';
import { useTool } from '../../tools.ts';
import { Columns } from './columns.tsx';
import { columnsOf, guessed, type Mapping, mappedRows, membersOf } from './mapping.ts';
import { Outcome } from './outcome.tsx';
import type { FileRow } from './rows.ts';
import { importRows, type Progress } from './run.ts';

/** A file whose rows are in the browser. */
export interface ReadFile {
  readonly name: string;
  readonly rows: readonly FileRow[];
}

interface FileImportProps {
  readonly file: ReadFile;
  readonly onBusy: (busy: boolean) => void;
}

/** What the rows of a file are, what its columns become, and how far their import is. */
export function FileImport({ file, onBusy }: FileImportProps) {
  const schema = useTool('import_records')?.inputSchema.properties;
  const types = (schema?.type?.enum ?? []).map(String);
  const [type, setType] = useState(types.find((one) => file.name.toLowerCase().includes(one)) ?? 'users');
  const columns = useMemo(() => columnsOf(file.rows), [file]);
  const members = useMemo(() => membersOf(schema?.records?.description, type), [schema, type]);
  const [picked, setPicked] = useState<Mapping>();
  const mapping = useMemo(() => picked ?? guessed(columns.keys(), members), [picked, columns, members]);
  const { run, stop, forgetCheck, progress, error } = useImport(onBusy);
  const pick = (next: string, its: Mapping | undefined) => {
    setType(next);
    setPicked(its);
    forgetCheck();
  };
  return (
    <>
      <TypeField types={types} value={type} onChange={(next) => pick(next, undefined)} />
      {file.rows.length === 0 && <p class="note warn">{`There are no rows in ${file.name}.`}</p>}
      {!stop && columns.size > 0 && (
        <Columns columns={columns} members={members} mapping={mapping} onChange={(its) => pick(type, its)} />
      )}
      <div class="actions">
        {stop ? (
          <Button icon="stop" onClick={stop}>
            Stop
          </Button>
        ) : (
          <ImportButtons
            count={file.rows.length}
            onRun={(dryRun) => run(type, mappedRows(file.rows, mapping), dryRun)}
          />
        )}
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {progress && <Outcome progress={progress} running={stop !== undefined} />}
    </>
  );
}

interface ImportButtonsProps {
  readonly count: number;
  readonly onRun: (dryRun: boolean) => void;
}

function ImportButtons({ count, onRun }: ImportButtonsProps) {
  const disabled = count === 0;
  return (
    <>
      <Button look="primary" icon="import" disabled={disabled} onClick={() => onRun(false)}>
        {`Import ${counted(count, 'row')}`}
      </Button>
      <Button disabled={disabled} onClick={() => onRun(true)}>
        Check first
      </Button>
    </>
  );
}

/** One import or check at a time, which can be stopped. A check is forgotten when something else would be sent. */
function useImport(onBusy: (busy: boolean) => void) {
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<unknown>();
  const [control, setControl] = useState<AbortController>();
  const run = async (type: string, rows: readonly FileRow[], dryRun: boolean) => {
    const begun = new AbortController();
    setControl(begun);
    setError(undefined);
    onBusy(true);
    await importRows(type, rows, { dryRun, signal: begun.signal, onProgress: setProgress }).catch(setError);
    setControl(undefined);
    onBusy(false);
  };
  const forgetCheck = () => setProgress((now) => (now?.dryRun ? undefined : now));
  return { run, forgetCheck, stop: control && (() => control.abort()), progress, error };
}

interface TypeFieldProps {
  readonly types: readonly string[];
  readonly value: string;
  readonly onChange: (type: string) => void;
}

function TypeField({ types, value, onChange }: TypeFieldProps) {
  return (
    <Field label="Rows are">
      {(tied) => (
        <select class="input" {...tied} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {types.map((one) => (
            <option key={one} value={one}>
              {wordOf(one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
