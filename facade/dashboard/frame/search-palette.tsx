import { useState } from 'preact/hooks';
import { useAnswer, useDebounced } from '../answer-cache.ts';
import { useModal } from '../components/dialog.tsx';
import { Icon, type IconName } from '../components/icon.tsx';
import { wordOf } from '../format.ts';
import { pathOfType } from '../kinds.ts';
import { pages } from '../pages.ts';
import { go } from '../router.ts';
import { text } from '../text.ts';
import { useMay, useNames } from '../tools.ts';
import { commandsFor } from './commands.ts';

interface Hit {
  readonly type: string;
  readonly id: string;
  readonly title: string;
  readonly snippet: string;
  readonly parent?: { readonly type: string; readonly id: string };
  readonly passage?: { readonly offset: number };
}

type FoundEntry = Readonly<{
  key: string;
  icon: IconName;
  title: string;
  /** Where it matches, where the title does not say it. */
  snippet?: string | undefined;
  more: string;
  /** Where it leads, or what it does. */
  does: string | (() => void);
}>;

/** Pages, things to do and records by a few letters. Arrows choose, Enter opens. */
export function SearchPalette({ onClose }: { readonly onClose: () => void }) {
  const ref = useModal();
  const [typed, setTyped] = useState('');
  const [place, setPlace] = useState(0);
  const found = useFound(typed.trim());
  const open = (does: FoundEntry['does'] | undefined) => {
    if (does === undefined) return;
    onClose();
    if (typeof does === 'string') go(does);
    else does();
  };
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') open(found[place]?.does);
    if (step === 0) return;
    event.preventDefault();
    setPlace(Math.max(0, Math.min(found.length - 1, place + step)));
  };
  const type = (words: string) => {
    setTyped(words);
    setPlace(0);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it for the keyboard
    <dialog
      ref={ref}
      class="palette"
      aria-label={text.search}
      onCancel={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <PaletteInput typed={typed} chosen={found[place] && `found-${place}`} onType={type} onKey={move} />
      <FoundList found={found} place={place} typed={typed} onOpen={open} />
    </dialog>
  );
}

interface PaletteInputProps {
  readonly typed: string;
  /** The id of what Enter opens. */
  readonly chosen: string | undefined;
  readonly onType: (typed: string) => void;
  readonly onKey: (event: KeyboardEvent) => void;
}

function PaletteInput({ typed, chosen, onType, onKey }: PaletteInputProps) {
  return (
    <label class="palette-input">
      <Icon name="search" size={18} />
      <input
        type="search"
        placeholder="Find a page, a record, or what to do"
        aria-label="Find a page, a record, or what to do"
        value={typed}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
        onKeyDown={onKey}
        {...{ ...COMBOBOX, 'aria-activedescendant': chosen }}
      />
    </label>
  );
}

/** Preact's types want a `list` beside this role; ours is not a datalist. */
const COMBOBOX: object = { role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list' };

function FoundList({
  found,
  place,
  typed,
  onOpen,
}: {
  readonly found: readonly FoundEntry[];
  readonly place: number;
  readonly typed: string;
  readonly onOpen: (does: FoundEntry['does']) => void;
}) {
  if (found.length === 0) return <p class="palette-none">{typed === '' ? '' : 'Nothing found.'}</p>;
  return (
    <div class="palette-list" id="palette-list" role="listbox" aria-label="Found">
      {found.map(({ key, icon, title, snippet, more, does }, index) => (
        <button
          key={key}
          type="button"
          id={`found-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === place}
          class="palette-item"
          onClick={() => onOpen(does)}
        >
          <Icon name={icon} />
          <span class="palette-title">
            {title}
            {snippet !== undefined && (
              <span class="palette-snippet">
                <Matches text={snippet} typed={typed} />
              </span>
            )}
          </span>
          <span class="palette-more">{more}</span>
        </button>
      ))}
    </div>
  );
}

/** The text with the words that were typed marked, whatever they end in. */
function Matches({ text: said, typed }: { readonly text: string; readonly typed: string }) {
  const words = typed.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  const isTyped = (part: string) => words.some((word) => part.toLowerCase().startsWith(word.slice(0, STEM)));
  return <>{said.split(/([\p{L}\p{N}]+)/u).map((part, at) => (isTyped(part) ? <mark key={at}>{part}</mark> : part))}</>;
}

/** So many letters of a longer word tell its forms: order, orders, ordering. */
const STEM = 5;

function useFound(typed: string): readonly FoundEntry[] {
  const asked = useDebounced(typed);
  const names = useNames();
  const maySearch = useMay('search');
  const { data } = useAnswer<{ data: readonly Hit[] }>(maySearch && asked.length > 1 ? 'search' : undefined, {
    q: asked,
    limit: 20,
  });
  const named = commandsFor(typed, names).map(({ title, icon, does }) => {
    const isPage = typeof does === 'string' && pages.some(({ path }) => path === does);
    return { key: title, icon, title, more: isPage ? 'Page' : 'Do', does };
  });
  const records = (asked.length > 1 ? (data?.data ?? []) : []).flatMap((hit) => foundOf(hit));
  return [...named, ...records];
}

function foundOf(hit: Hit): FoundEntry[] {
  const path = pathOfType(hit.type, hit.id) ?? (hit.parent && pathOfType(hit.parent.type, hit.parent.id));
  if (path === undefined) return [];
  const icon = pages.find((page) => path.startsWith(`${page.path}/`))?.icon ?? 'document';
  const { type, id, title, snippet, passage } = hit;
  return [
    {
      ...{ key: `${type} ${id}`, icon, more: wordOf(type), title: title || snippet },
      snippet: title !== '' && snippet !== title ? snippet : undefined,
      does: passage ? `${path}?at=${passage.offset}` : path,
    },
  ];
}
