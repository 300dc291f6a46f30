import { useState } from 'preact/hooks';
import type { Attachment } from '../../../../resources/attachment.ts';
import { boot } from '../../app.ts';
import { Dialog, Icon } from '../../ui.ts';
import { Preview } from './composer.tsx';
import { isImage, sizeOf } from './files.ts';

type Files = Readonly<{ threadId: string; files: readonly Attachment[] }>;

/** The files of a message: images, which open large, and links that save the others. */
export function MessageFiles({ threadId, files }: Files) {
  const [large, setLarge] = useState<Attachment>();
  const addressOf = ({ id }: Attachment) =>
    `${boot.base}/api/v1/threads/${encodeURIComponent(threadId)}/files/${encodeURIComponent(id)}`;
  return (
    <>
      <ul class="attached" aria-label="Files of this message">
        {files.map((file) => (
          <li key={file.id}>
            {isImage(file.mediaType) ? (
              <button
                type="button"
                class="attached-image"
                title={`${file.name}, ${sizeOf(file.sizeBytes)}`}
                onClick={() => setLarge(file)}
              >
                <img src={addressOf(file)} alt={`${file.name}: open it large`} loading="lazy" />
              </button>
            ) : (
              <a class="attached-file" href={addressOf(file)} download={file.name}>
                <Icon name="document" size={20} />
                <Words name={file.name} bytes={file.sizeBytes} />
              </a>
            )}
          </li>
        ))}
      </ul>
      {large && (
        <Dialog title={large.name} size="l" onClose={() => setLarge(undefined)}>
          <img class="large-image" src={addressOf(large)} alt={large.name} />
          <p class="quiet">
            <a href={addressOf(large)} download={large.name}>
              Download
            </a>{' '}
            {sizeOf(large.sizeBytes)}
          </p>
        </Dialog>
      )}
    </>
  );
}

function Words({ name, bytes }: { readonly name: string; readonly bytes: number }) {
  return (
    <span class="attached-words">
      <span class="attached-name" title={name}>
        {name}
      </span>
      <span class="faint">{sizeOf(bytes)}</span>
    </span>
  );
}

/** The files of a message on its way. `share`: how much of them was sent, from 0 to 1. */
export function SentFiles({ files, share }: { readonly files: readonly File[]; readonly share: number }) {
  return (
    <>
      <ul class="attached" aria-label="Files of this message">
        {files.map((file, at) => (
          <li key={`${at} ${file.name}`} class="attached-file">
            <Preview file={file} />
            <Words name={file.name} bytes={file.size} />
          </li>
        ))}
      </ul>
      {share < 1 && <progress class="attached-progress" value={share} aria-label="Sending the files" />}
    </>
  );
}
