import '../style/hits.css';
import { useState } from 'preact/hooks';
import { keepAnswer, useAnswer } from '../answer-cache.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { Badge, Empty, Skeleton } from '../components/small.tsx';
import { Fields } from '../components/value.tsx';
import { counted, wordOf } from '../format.ts';
import { pathOfType, refs } from '../kinds.ts';
import { text } from '../text.ts';
import { useNames } from '../tools.ts';
import { usePagedList } from '../use-paged-list.ts';
import { beginAt, host } from './host.ts';
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

/** The record of a hit, read when it is opened. */
function OneRecord({ hit, onBack }: { readonly hit: Hit; readonly onBack: () => void }) {
  const reader = readerOf(hit);
  const { data, error } = useAnswer<Members>(reader?.tool, reader?.input);
  const path = pathOfType(hit.type, hit.id) ?? (hit.parent && pathOfType(hit.parent.type, hit.parent.id));
  return (
    <>
      <header class="view-head">
        <Button look="quiet" icon="back" label="All hits" onClick={onBack} />
        <h1>{hit.title}</h1>
        <Badge>{wordOf(hit.type)}</Badge>
      </header>
      {error && <ErrorBox error={error} />}
      {!data && !error && <Skeleton lines={5} />}
      {data && <Fields record={data} />}
      {path !== undefined && host.capabilities.openLinks && (
        <div class="actions">
          <LinkButton text="Open in the dashboard" to={path} icon="external" />
        </div>
      )}
    </>
  );
}

export interface Hit {
  readonly type: string;
  readonly id: string;
  readonly title: string;
  readonly snippet: string;
  readonly parent?: { readonly type: string; readonly id: string };
}

const LONGEST_TITLE = 80;

/** A hit of `search`, or a memory as `search_memories` answers it. */
function hitOf(row: Members): Hit {
  if (typeof row.snippet === 'string') return foundHit(row, row.snippet);
  const content = String(row.content ?? '');
  const [line = ''] = content.split('\n');
  const title = line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE)}…` : line;
  return { type: 'memory', id: String(row.id), title, snippet: content };
}

function foundHit({ type, id, title, parent }: Members, snippet: string): Hit {
  const inside = parent as Hit['parent']; // as `search` answers
  return { type: String(type), id: String(id), title: String(title), snippet, ...(inside && { parent: inside }) };
}

/** The call that reads the record, or the one that it is read with. Undefined if there is none. */
export function readerOf({ type, id, parent }: Hit): { readonly tool: string; readonly input: object } | undefined {
  if (type === 'product-user') return { tool: 'get_user', input: { userId: id } };
  const own = refs[type]?.get;
  if (own) return { tool: own, input: { id } };
  const other = parent && refs[parent.type]?.get;
  return other ? { tool: other, input: { id: parent.id } } : undefined;
}

start(SearchView);
