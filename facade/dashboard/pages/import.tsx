import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { Field } from '../components/form/field.tsx';
import { counted, wordOf } from '../format.ts';
import { useTool } from '../tools.ts';
import { DropArea } from './import/drop-area.tsx';
import { FirstRows, Outcome } from './import/outcome.tsx';
import { type FileRow, rowsOf } from './import/rows.ts';
import { importRows, type Progress } from './import/run.ts';

interface Read {
  readonly name: string;
  readonly rows: readonly FileRow[];
}

/** Loads product data from a file: read in the browser, imported in parts, refused rows handed back. */
export function Page() {
  const schema = useTool('import_records')?.inputSchema.properties;
  const types = (schema?.type?.enum ?? []).map(String);
  const [type, setType] = useState('users');
  const [file, setFile] = useState<Read>();
  const [error, setError] = useState<unknown>();
  const [progress, setProgress] = useState<Progress>();
  const [stop, setStop] = useState<AbortController>();
  const read = async (given: File) => {
    setError(undefined);
    setProgress(undefined);
    try {
      const rows = await rowsOf(given);
      setFile({ name: given.name, rows });
      setType(types.find((one) => given.name.toLowerCase().includes(one)) ?? type);
    } catch (problem) {
      setError(problem);
    }
  };
  const run = async (rows: readonly FileRow[]) => {
    const control = new AbortController();
    setStop(control);
    setError(undefined);
    await importRows(type, rows, { signal: control.signal, onProgress: setProgress }).catch(setError);
    setStop(undefined);
  };
  return (
    <div class="page-body narrow">
      <header class="page-head">
        <h1>Import</h1>
      </header>
      <p class="quiet">
        Users, subscriptions, invoices, events, visits and websites of your product. A row with a known key replaces it;
        the same file again changes nothing.
      </p>
      <DropArea onFile={read} busy={stop !== undefined} />
      {file && (
        <>
          <Field label="Rows are" hint={membersOf(schema?.records?.description, type)}>
            {(tied) => (
              <select
                class="input"
                {...tied}
                value={type}
                onChange={({ currentTarget }) => setType(currentTarget.value)}
              >
                {types.map((one) => (
                  <option key={one} value={one}>
                    {wordOf(one)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {!progress && <FirstRows {...file} />}
          <div class="actions">
            {stop ? (
              <Button icon="stop" onClick={() => stop.abort()}>
                Stop
              </Button>
            ) : (
              <Button look="primary" icon="import" onClick={() => run(file.rows)}>
                {`Import ${counted(file.rows.length, 'row')}`}
              </Button>
            )}
          </div>
        </>
      )}
      {error !== undefined && <ErrorBox error={error} />}
      {progress && <Outcome progress={progress} running={stop !== undefined} />}
    </div>
  );
}

/** The members of one type, out of the description that lists those of all types. */
function membersOf(description: string | undefined, type: string): string | undefined {
  const members = description && new RegExp(`\\b${type} \\{?([^;}]+)`).exec(description)?.[1];
  return members ? `Columns: ${members.trim()}` : undefined;
}
