import { useEffect, useRef, useState } from 'preact/hooks';
import { FilesInput } from '../../components/files-input.tsx';
import { useDrop } from '../../components/use-drop.ts';
import { Button, Icon } from '../../ui.ts';
import { checked, type Picked, pick, sizeOf, TAKES, TYPES, usePreview } from './files.ts';
import type { Returned, Said } from './run.ts';

type ComposerProps = Readonly<{
  onSend: (said: Said) => unknown;
  /** Ends the answer that is on its way. */
  onStop?: (() => void) | undefined;
  /** What the server did not take, to be mended and sent again. */
  returned?: Returned | undefined;
}>;

/** Where one writes. Enter sends, Shift and Enter begins a new line. Files are chosen, pasted, or dropped anywhere on the page. */
export function Composer({ onSend, onStop, returned }: ComposerProps) {
  const { message, picked, write, add, remove, isReady, take } = useDraft(returned);
  const box = useRef<HTMLTextAreaElement>(null);
  const over = useDrop(true, add);
  const send = () => {
    if (!isReady || onStop) return;
    onSend(take());
    box.current?.focus();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {over && <DropHere />}
      {picked.length > 0 && (
        <PickedFiles
          picked={picked}
          onRemove={(key) => {
            remove(key);
            box.current?.focus();
          }}
        />
      )}
      <FileButton onFiles={add} />
      <textarea
        ref={box}
        rows={Math.min(8, message.split('\n').length)}
        aria-label="Message"
        placeholder="Write a message"
        value={message}
        onInput={({ currentTarget }) => write(currentTarget.value)}
        onPaste={(event) => pasteFiles(event, add)}
        onKeyDown={(event) => sendOnEnter(event, send)}
      />
      {onStop ? (
        <Button icon="stop" label="Stop" onClick={onStop} />
      ) : (
        <Button type="submit" look="primary" icon="send" label="Send" disabled={!isReady} />
      )}
    </form>
  );
}

function useDraft(returned: Returned | undefined) {
  const [message, write] = useState('');
  const [picked, setPicked] = useState<readonly Picked[]>([]);
  useEffect(() => {
    if (!returned) return;
    const again = pick(returned.files).map((each, at) => ({ ...each, error: returned.errors.get(at) }));
    write((now) => now || returned.message);
    setPicked((now) => (now.length > 0 ? now : again));
  }, [returned]);
  return {
    ...{ message, picked, write },
    isReady: (message.trim() !== '' || picked.length > 0) && picked.every(({ error }) => error === undefined),
    add: (files: readonly File[]) => setPicked((all) => checked([...all, ...pick(files)])),
    remove: (key: number) => setPicked((all) => checked(all.filter((each) => each.key !== key))),
    /** Empties it. */
    take(): Said {
      write('');
      setPicked([]);
      return { message, files: picked.map(({ file }) => file) };
    },
  };
}

function pasteFiles(event: ClipboardEvent, add: (files: readonly File[]) => void): void {
  const files = [...(event.clipboardData?.files ?? [])];
  if (files.length === 0) return;
  event.preventDefault();
  add(files);
}

function sendOnEnter(event: KeyboardEvent, send: () => void): void {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
}

function DropHere() {
  return (
    <div class="drop-over">
      <Icon name="import" size={24} />
      <strong>Drop files to send them with your message</strong>
      <span>{TAKES}</span>
    </div>
  );
}

function FileButton({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button look="quiet" icon="clip" label="Attach files" onClick={() => input.current?.click()} />
      <FilesInput label="Files to attach" accept={TYPES} onFiles={onFiles} input={input} />
    </>
  );
}

type PickedFilesProps = Readonly<{ picked: readonly Picked[]; onRemove: (key: number) => void }>;

function PickedFiles({ picked, onRemove }: PickedFilesProps) {
  return (
    <ul class="attached" aria-label="Files of this message">
      {picked.map(({ key, file, error }) => (
        <li key={key} class={error === undefined ? 'attached-file' : 'attached-file wrong'}>
          <Preview file={file} />
          <span class="attached-words">
            <span class="attached-name" title={file.name}>
              {file.name}
            </span>
            {error === undefined ? (
              <span class="faint">{sizeOf(file.size)}</span>
            ) : (
              <span class="attached-error" role="alert">
                {error}
              </span>
            )}
          </span>
          <Button look="quiet" icon="close" label={`Remove ${file.name}`} onClick={() => onRemove(key)} />
        </li>
      ))}
    </ul>
  );
}

export function Preview({ file }: { readonly file: File }) {
  const url = usePreview(file);
  const [isBroken, setBroken] = useState(false);
  if (url === undefined || isBroken) return <Icon name="document" size={20} />;
  return <img class="attached-thumb" src={url} alt="" onError={() => setBroken(true)} />;
}
