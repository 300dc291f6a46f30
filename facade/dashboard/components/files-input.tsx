import type { Ref } from 'preact';

interface FilesInputProps {
  readonly label: string;
  /** As the attribute of HTML. */
  readonly accept: string;
  readonly onFiles: (files: readonly File[]) => void;
  readonly input: Ref<HTMLInputElement>;
}

/** The browser's dialog to choose files, which a button opens by a click on the input. */
export function FilesInput({ label, accept, onFiles, input }: FilesInputProps) {
  return (
    <input
      ref={input}
      class="visually-hidden"
      type="file"
      multiple
      accept={accept}
      aria-label={label}
      tabIndex={-1}
      onChange={({ currentTarget }) => {
        onFiles([...(currentTarget.files ?? [])]);
        currentTarget.value = '';
      }}
    />
  );
}
