import { useLayoutEffect, useRef } from 'preact/hooks';
import { passagesOf } from '../../../../tools/documents/passages.ts';
import { useAnswer, useLocation } from '../../app.ts';
import { Prose } from '../../components/prose.tsx';
import type { Row } from '../../kind/kind-page.tsx';

/** The text of a document. Where the address names a place in it (`?at=<offset>`), the passage there is marked and in view. */
export function Content({ row }: { readonly row: Row }) {
  const text = String(row.content ?? '');
  const at = useLocation().query.get('at');
  const place = at === null ? undefined : Number(at);
  const passage =
    place === undefined
      ? undefined
      : passagesOf(text).find(({ offset, text: { length } }) => offset <= place && place < offset + length);
  return (
    <section class="block">
      <h2>Content</h2>
      <OwnFile row={row} />
      <div class="block-prose">
        {passage ? (
          <>
            <Prose text={text.slice(0, passage.offset)} />
            <Marked key={passage.offset} text={passage.text} />
            <Prose text={text.slice(passage.offset + passage.text.length)} />
          </>
        ) : (
          <Prose text={text} />
        )}
      </div>
    </section>
  );
}

/** The file that the text was made of, to save. */
function OwnFile({ row: { id, source, revision } }: { readonly row: Row }) {
  const { data } = useAnswer<Readonly<Record<string, unknown>>>(source === undefined ? undefined : 'get_document', {
    id,
    file: true,
    limit: 1,
  });
  const { name } = (source ?? {}) as { readonly name?: string }; // as the schema of the tool says
  if (!data?.file || data.revision !== revision) return null;
  return (
    <p class="hint">
      Made of{' '}
      <a href={`/api/v1/documents/${encodeURIComponent(String(id))}/file`} download>
        {name}
      </a>
    </p>
  );
}

function Marked({ text }: { readonly text: string }) {
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    // What is above it is drawn when the code for it has come.
    void Prose.begin().then(() => requestAnimationFrame(() => ref.current?.scrollIntoView({ block: 'center' })));
  }, []);
  return (
    <section ref={ref} class="passage" aria-label="The passage that was found">
      <Prose text={text} />
    </section>
  );
}
