import { useState } from 'preact/hooks';
import { ErrorBox } from '../components/error-box.tsx';
import { DropArea } from './import/drop-area.tsx';
import { FileImport, type ReadFile } from './import/file-import.tsx';
import { rowsOf } from './import/rows.ts';

/** Loads product data from a file: read in the browser, imported in parts, refused rows handed back. */
export function Page() {
  const [file, setFile] = useState<ReadFile>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const read = async (given: File) => {
    setError(undefined);
    setFile(undefined);
    try {
      setFile({ name: given.name, rows: await rowsOf(given) });
    } catch (problem) {
      setError(problem);
    }
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
      <DropArea onFile={read} busy={busy} />
      {error !== undefined && <ErrorBox error={error} />}
      {file && <FileImport file={file} onBusy={setBusy} />}
    </div>
  );
}
