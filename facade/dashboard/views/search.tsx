import '../style/hits.css';
import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { Badge, Empty } from '../components/small.tsx';
import { counted, wordOf } from '../format.ts';
import { keepAnswer } from '../store.ts';
import { text } from '../text.ts';
import { useNames } from '../tools.ts';
import { usePagedList } from '../use-paged-list.ts';
import { type Hit, hitOf, readerOf } from './hit.ts';
import { beginAt } from './host/router.ts';
import { OneRecord } from './one-record.tsx';
import { type Members, type ShownCall, start } from './start.tsx';

/** What a search found. A hit opens in the page. */
function SearchView({ tool, input, output }: ShownCall) {
  const name = tool ?? ('facets' in output ? 'search' : 'search_memories');
  const [open, setOpen] = useState<Hit>();
  useState(() => {
    beginAt('/');
    keepAnswer(name, input, output);
  });
  const { rows, more, loading, error } = usePagedList<Members>(name, input);
  const names = useNames();
  if (open) return <OneRecord hit={open} onBack={() => setOpen(undefined)} />;
  const hits = rows.map(hitOf);
  return (
    <>
      <header class="view-head">
        <h1>{String(input.q ?? text.search)}</h1>
        <p class="quiet">{foundIn(output, rows.length, more !== undefined)}</p>
      </header>
      {hits.length === 0 && <Empty title="Nothing found">Other words, or fewer of them, may find it.</Empty>}
      <ol class="hits">
        {hits.map((hit) => (
          <li key={`${hit.type} ${hit.id}`}>
            <HitRow hit={hit} onOpen={names.has(readerOf(hit)?.tool ?? '') ? () => setOpen(hit) : undefined} />
          </li>
        ))}
      </ol>
      {error && <ErrorBox error={error} />}
      {more && names.has(name) && (
        <div class="actions">
          <Button text={text.loadMore} busy={loading} onClick={more} />
        </div>
      )}
    </>
  );
}

/** How many there are of each type, where the search has counted. */
function foundIn({ facets }: Members, count: number, hasMore: boolean): string {
  const types = Object.entries((facets ?? {}) as Readonly<Record<string, number>>); // as `search` answers
  if (types.length === 0) return `${counted(count, 'hit')}${hasMore ? ' and more' : ''}`;
  return types.map(([type, number]) => countedOf(number, wordOf(type).toLowerCase())).join(', ');
}

function countedOf(count: number, word: string): string {
  return counted(count, word, word.endsWith('y') ? `${word.slice(0, -1)}ies` : undefined);
}

function HitRow({ hit, onOpen }: { readonly hit: Hit; readonly onOpen: (() => void) | undefined }) {
  const content = (
    <>
      <span class="hit-head">
        <span class="hit-title">{hit.title}</span>
        <Badge>{wordOf(hit.type)}</Badge>
      </span>
      {hit.snippet !== hit.title && <span class="hit-snippet">{hit.snippet}</span>}
    </>
  );
  return onOpen ? (
    <button type="button" class="hit" onClick={onOpen}>
      {content}
    </button>
  ) : (
    <div class="hit">{content}</div>
  );
}

start(SearchView);
