import { useState } from 'preact/hooks';
import type { Document } from '../../../../resources/document.ts';
import type { Citation } from '../../../../resources/message.ts';
import { useAnswer, useMay } from '../../app.ts';
import { Prose } from '../../components/prose.tsx';
import { useRecordName } from '../../components/value.tsx';
import { ErrorBox, Link, Skeleton } from '../../ui.ts';

/** How much of the document is shown, and how much of that before the passage, in characters. */
const SHOWN = 1200;
const BEFORE = 100;

/** The sources of an answer. Opening one reads its passage with the rights of the person. */
export function Sources({ citations }: { readonly citations: readonly Citation[] }) {
  return (
    <ul class="sources" aria-label="Sources">
      {citations.map((citation) => (
        <li key={citation.number}>
          <Source citation={citation} />
        </li>
      ))}
    </ul>
  );
}

function Source({ citation: { number, documentId, offset } }: { readonly citation: Citation }) {
  const [isOpen, setOpen] = useState(false);
  const mayRead = useMay('get_document');
  const name = useRecordName(documentId) ?? documentId;
  return (
    <details class="called" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        [{number}] {name}
      </summary>
      <div class="called-body">
        {isOpen && (mayRead ? <Passage id={documentId} offset={offset} /> : <p>You may not read documents.</p>)}
      </div>
    </details>
  );
}

function Passage({ id, offset }: { readonly id: string; readonly offset: number }) {
  const input = { id, offset: Math.max(0, offset - BEFORE), limit: SHOWN };
  const { data, error } = useAnswer<Document>('get_document', input);
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={3} />;
  return (
    <>
      <Prose text={data.content} />
      <p>
        <Link to={`/documents/${encodeURIComponent(id)}?at=${offset}`}>Open the document here</Link>
      </p>
    </>
  );
}
