import { useEffect, useState } from 'preact/hooks';
import { download } from '../download.ts';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { Button } from '../ui.ts';

export const Page = kindPage('artifact', {
  versions: 'artifact',
  empty: 'Files that agents made: pages, data, pictures.',
  without: ['content', 'data'],
  actions: DownloadButton,
  below: Content,
});

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
