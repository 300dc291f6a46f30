import { useId, useState } from 'preact/hooks';
import { ErrorBox, Icon, PageBody } from '../ui.ts';
import { FileImport, type ReadFile } from './import/file-import.tsx';
import { rowsOf } from './import/rows.ts';

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
    <PageBody title="Import" width="narrow">
      <p class="quiet">
        Users, subscriptions, invoices, events, visits and websites of your product. A row with a known key replaces it;
        the same file again changes nothing.
      </p>
      <DropArea onFile={read} busy={busy} />
      {error !== undefined && <ErrorBox error={error} />}
      {file && <FileImport file={file} onBusy={setBusy} />}
    </PageBody>
  );
}

function DropArea({ onFile, busy }: { readonly onFile: (file: File) => void; readonly busy: boolean }) {
  const id = useId();
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (file && !busy) onFile(file);
  };
  return (
    <label
      for={id}
      class={over ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Icon name="import" size={24} />
      <span>
        <strong>Drop a file here</strong> or choose one
      </span>
      <span class="hint">CSV with a line of column names, or NDJSON</span>
      <input
        id={id}
        class="visually-hidden"
        type="file"
        accept=".csv,.ndjson,.jsonl"
        disabled={busy}
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          currentTarget.value = '';
          if (file) onFile(file);
        }}
      />
    </label>
  );
}
