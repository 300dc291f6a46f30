import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { setQuery, usePlace } from '../router.ts';
import { text } from '../text.ts';
import { useRecords } from './form/picker.tsx';
import { Icon } from './icon.tsx';
import { onToggle, placeBelow } from './popover.ts';
import { Mono } from './small.tsx';
import { useRecordName } from './value.tsx';

export interface FilterRecordProps {
  readonly name: string;
  readonly label: string;
  /** What it may be a record of: a word for many, by the name of the kind in `refs.ts`. */
  readonly kinds: Kinds;
}

type Kinds = Readonly<Record<string, string>>;

/** A record by which a list is filtered: picked by its name, or given by an id that is in no list, as that of a record deleted since. */
export function FilterRecord({ name, label, kinds }: FilterRecordProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const value = usePlace().query.get(name) ?? '';
  const known = useRecordName(value);
  const pick = (picked: string) => {
    popover.current?.hidePopover();
    setQuery({ [name]: picked });
  };
  const toggled = (opens: boolean) => {
    setOpen(opens);
    if (opens && popover.current && opener.current) placeBelow(popover.current, opener.current, 'left');
  };
  return (
    <>
      <button
        type="button"
        ref={opener}
        class={value ? 'filter-choice set' : 'filter-choice'}
        popovertarget={id}
        title={value ? `${label}: ${known ?? value}` : undefined}
      >
        <span class={value ? 'only-heard' : undefined}>{value ? `${label}: ` : label}</span>
        {known ?? value}
      </button>
      <div id={id} ref={popover} popover="auto" class="menu record-choices" {...onToggle(toggled)}>
        {isOpen && <RecordChoices kinds={kinds} value={value} onPick={pick} />}
      </div>
    </>
  );
}

interface RecordChoicesProps {
  readonly kinds: Kinds;
  readonly value: string;
  readonly onPick: (id: string) => void;
}

function RecordChoices({ kinds, value, onPick }: RecordChoicesProps) {
  const [typed, setTyped] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const wanted = typed.trim();
  // Where there is no keyboard beside the screen, one would open over the list.
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) input.current?.focus();
  }, []);
  return (
    <>
      <label class="filter-text">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          placeholder="Name or id"
          aria-label="Name or id"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault(); // else the opener, which has the focus then, is pressed too
            list.current?.querySelector('button')?.click();
          }}
        />
      </label>
      <div class="record-list" ref={list}>
        {Object.entries(kinds).map(([kind, title], _, all) => (
          <RecordsOf key={kind} isAlone={all.length === 1} {...{ kind, title, wanted, value, onPick }} />
        ))}
        {wanted !== '' && (
          <button type="button" class="menu-item" onClick={() => onPick(wanted)}>
            <span class="record-name">
              Use the id <Mono>{wanted}</Mono>
            </span>
          </button>
        )}
      </div>
      {value !== '' && (
        <button type="button" class="menu-item record-clear" onClick={() => onPick('')}>
          <Icon name="close" />
          Clear
        </button>
      )}
    </>
  );
}

interface RecordsOfProps extends Omit<RecordChoicesProps, 'kinds'> {
  readonly kind: string;
  readonly title: string;
  readonly isAlone: boolean;
  /** What is looked for in names and ids. */
  readonly wanted: string;
}

function RecordsOf({ kind, title, isAlone, wanted, value, onPick }: RecordsOfProps) {
  const { options, more } = useRecords(kind) ?? {};
  const found = options?.filter((option) =>
    `${option.label} ${option.value}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  if (!found || (found.length === 0 && !more)) return null;
  return (
    <fieldset class="record-group">
      <legend class={isAlone ? 'only-heard' : undefined}>{title}</legend>
      {found.map((option) => (
        <button
          key={option.value}
          type="button"
          class="menu-item"
          aria-pressed={option.value === value}
          onClick={() => onPick(option.value)}
        >
          <span class="record-name">{option.label}</span>
        </button>
      ))}
      {more && (
        <button type="button" class="menu-item quiet" onClick={more}>
          {text.loadMore}
        </button>
      )}
    </fieldset>
  );
}
