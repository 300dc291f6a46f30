import { useEffect, useState } from 'preact/hooks';
import { Field } from '../components/form/field.tsx';
import { issueAt, type PartProps } from '../components/form/state.ts';
import { download } from '../download.ts';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { Button } from '../ui.ts';
import { sizeOf } from './chat/files.ts';

export const Page = kindPage('artifact', {
  versions: 'artifact',
  fields: {
    name: { hint: 'Like price-table.csv.' },
    mimeType: { label: 'Media type', hint: 'What it is, like text/csv, text/markdown or image/png.' },
    content: { label: 'Text', hint: 'What it holds, where that is text.' },
    data: {},
    projectId: { label: 'Project', hint: 'Who sees the project sees the artifact.' },
    threadId: { label: 'Thread', hint: 'The conversation that it came from.' },
  },
  controls: { data: FileControl },
  makes: {
    title: 'New artifact',
    action: 'Create artifact',
    intro: 'Something that was made, to keep and to download: a page, a table, a picture.',
  },
  empty: 'Files that agents made: pages, data, pictures.',
  without: ['content', 'data'],
  actions: DownloadButton,
  below: Content,
});

/** As its tools take it. */
const MOST_BYTES = 1024 * 1024;

/** A file in place of a text. */
function FileControl({ value, onChange, issues, path }: PartProps) {
  const [isTooLarge, setTooLarge] = useState(false);
  const take = async (file: File | undefined) => {
    const fits = file !== undefined && file.size <= MOST_BYTES;
    setTooLarge(file !== undefined && !fits);
    onChange(fits ? base64(new Uint8Array(await file.arrayBuffer())) : undefined);
  };
  const issue = isTooLarge ? 'The file is larger than 1 MiB.' : issueAt({ path, issues });
  return (
    <Field label="Or a file" hint="At most 1 MiB, such as a picture." issue={issue}>
      {(tied) => (
        <div class="actions">
          <input type="file" {...tied} onChange={({ currentTarget }) => take(currentTarget.files?.[0])} />
          {typeof value === 'string' && value !== '' && (
            <>
              <span>{`A file of ${sizeOf((value.length * 3) / 4)} is kept.`}</span>
              <Button text="Remove the file" onClick={() => onChange(undefined)} />
            </>
          )}
        </div>
      )}
    </Field>
  );
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** Pictures that hold no scripts. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif)\b/;

/** What the artifact holds: a text or a picture. Anything else can be downloaded. */
function Content({ row }: { readonly row: Row }) {
  const { name, content } = row;
  return (
    <section class="block" aria-labelledby="content">
      <h2 id="content">Content</h2>
      {content !== undefined ? (
        <div class="block-text">{String(content)}</div>
      ) : PICTURE.test(String(row.mimeType)) ? (
        <Picture row={row} name={String(name)} />
      ) : (
        <p class="quiet">It is not text. Download it to open it with a program that knows it.</p>
      )}
    </section>
  );
}

function Picture({ row, name }: { readonly row: Row; readonly name: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytesOf(row)], { type: String(row.mimeType) }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [row.data]);
  return address === undefined ? null : <img class="picture" src={address} alt={name} />;
}

function DownloadButton({ row }: { readonly row: Row }) {
  return (
    <Button
      text="Download"
      icon="download"
      onClick={() => download(fileName(row), bytesOf(row), String(row.mimeType))}
    />
  );
}

function bytesOf({ content, data }: Row): BlobPart {
  if (content !== undefined) return String(content);
  return Uint8Array.from(atob(String(data ?? '')), (letter) => letter.charCodeAt(0));
}

const ENDINGS: Readonly<Record<string, string>> = {
  plain: 'txt',
  markdown: 'md',
  javascript: 'js',
  jpeg: 'jpg',
  'svg+xml': 'svg',
};

/** Its name with the ending that its media type usually has, unless the name has one. */
function fileName({ name, mimeType }: Row): string {
  const [, subtype = ''] = /^[^/]+\/([^;]+)/.exec(String(mimeType)) ?? [];
  const ending = ENDINGS[subtype] ?? (/^[a-z\d]{2,5}$/.test(subtype) ? subtype : undefined);
  return /\.\w{2,5}$/.test(String(name)) || ending === undefined ? String(name) : `${String(name)}.${ending}`;
}
