import { useId, useState } from 'preact/hooks';
import { Icon } from '../../components/icon.tsx';

/** Takes a file that is dropped or chosen. */
export function DropArea({ onFile, busy }: { readonly onFile: (file: File) => void; readonly busy: boolean }) {
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
        class="only-heard"
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
