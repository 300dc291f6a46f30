import { useRef } from 'preact/hooks';
import { at, useMay } from '../../app.ts';
import { FilesInput } from '../../components/files-input.tsx';
import { useDrop } from '../../components/use-drop.ts';
import { Button, Icon } from '../../ui.ts';
import { type Upload, useUploads } from './uploads.ts';

const TYPES = '.pdf,.docx,.html,.htm,.md,.markdown,.txt,.csv,.tsv';

/** Makes documents of files that are chosen, or dropped anywhere on the page. */
export function UploadFiles() {
  const input = useRef<HTMLInputElement>(null);
  const may = useMay('create_document');
  const { uploads, add, clear } = useUploads();
  const over = useDrop(may === true, add);
  return (
    <>
      <Button
        needs="create_document"
        text={<span class="wide-text">Upload files</span>}
        label="Upload files"
        icon="import"
        onClick={() => input.current?.click()}
      />
      <FilesInput label="Files to upload" accept={TYPES} onFiles={add} input={input} />
      {over && (
        <div class="drop-over">
          <Icon name="import" size={24} />
          <strong>Drop files to make documents of them</strong>
          <span>PDF, DOCX, HTML, Markdown, text or CSV, up to 20 MB each</span>
        </div>
      )}
      {uploads.length > 0 && <Uploads uploads={uploads} onClose={clear} />}
    </>
  );
}

function Uploads({ uploads, onClose }: { readonly uploads: readonly Upload[]; readonly onClose: () => void }) {
  const left = uploads.filter(({ id, error }) => id === undefined && error === undefined).length;
  const failed = uploads.filter(({ error }) => error !== undefined).length;
  const done = uploads.length - left - failed;
  const failures = failed > 0 ? `, ${failed} failed` : '';
  const head = left > 0 ? `Uploading ${left} of ${uploads.length}` : `${done} uploaded${failures}`;
  return (
    <section class="uploads" aria-label="Uploads">
      <header>
        <strong role="status">{head}</strong>
        {left === 0 && <Button icon="close" label="Close the list of uploads" look="quiet" onClick={onClose} />}
      </header>
      <ul>
        {uploads.map((upload) => (
          <li key={upload.key} class="upload">
            <UploadLine {...upload} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function UploadLine({ name, share, id, error }: Upload) {
  if (error !== undefined) {
    return (
      <>
        <span class="upload-name">{name}</span>
        <span class="upload-error" role="alert">
          {error}
        </span>
      </>
    );
  }
  if (id !== undefined) {
    return (
      <a class="upload-name" href={at(`/documents/${encodeURIComponent(id)}`)}>
        {name}
      </a>
    );
  }
  return (
    <>
      <span class="upload-name">{name}</span>
      {share < 1 ? <progress value={share} aria-label={`Upload of ${name}`} /> : <span class="quiet">Reading…</span>}
    </>
  );
}
