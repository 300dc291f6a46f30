import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useRecords } from '../records.ts';
import { text } from '../text.ts';
import { FindInput } from './find-input.tsx';
import { Icon } from './icon.tsx';
import { onToggle, placeBelow } from './menu.tsx';
import { Mono } from './small.tsx';

/** What may be picked: a word for many, by the name of the kind in `kinds.ts`. */
export type Kinds = Readonly<Record<string, string>>;

interface RecordButtonProps {
  readonly kinds: Kinds;
  /** The id of the picked record, or an empty text. */
  readonly value: string;
  /** Told the id; empty where the choice is taken back. */
  readonly onPick: (id: string) => void;
  /** Renders the control that creates a missing record. `typed` is the search text, `close` closes the list. */
  readonly make?: (typed: string, close: () => void) => ComponentChildren;
  /** Of the button, besides what opens the list. */
  readonly button: ButtonHTMLAttributes<HTMLButtonElement>;
  readonly children: ComponentChildren;
}

/** Height in pixels that the list of records may come to. */
const LIST_HEIGHT = 460;

/** Picks a record by its name, found by a search, or by an id that is in no list, as that of a record deleted since. */
export function RecordButton({ kinds, value, onPick, make, button, children }: RecordButtonProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const pick = (picked: string) => {
    popover.current?.hidePopover();
    onPick(picked);
  };
  const toggled = (opens: boolean) => {
    setOpen(opens);
    if (!opens) setTyped('');
    if (opens && popover.current && opener.current) placeBelow(popover.current, opener.current, 'left', LIST_HEIGHT);
  };
  // What is typed on the button is looked for, as in a list of the browser's own.
  const begin = (event: KeyboardEvent) => {
    const isLetter = event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isLetter && event.key !== 'ArrowDown') return;
    event.preventDefault();
    if (isLetter) setTyped((now) => now + event.key);
    if (!popover.current?.matches(':popover-open')) popover.current?.showPopover();
  };
  const state = button.role === 'combobox' && { 'aria-expanded': isOpen, 'aria-controls': id };
  return (
    <>
      <button type="button" ref={opener} popovertarget={id} onKeyDown={begin} {...button} {...state}>
        {children}
      </button>
      <div id={id} ref={popover} popover="auto" class="menu record-choices" {...onToggle(toggled)}>
        {isOpen && <RecordChoices {...{ kinds, value, typed }} onType={setTyped} onPick={pick} />}
        {isOpen && make?.(typed.trim(), () => popover.current?.hidePopover())}
      </div>
    </>
  );
}

interface RecordChoicesProps {
  readonly kinds: Kinds;
  readonly value: string;
  readonly typed: string;
  readonly onType: (typed: string) => void;
  readonly onPick: (id: string) => void;
}

function RecordChoices({ kinds, value, typed, onType, onPick }: RecordChoicesProps) {
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const wanted = typed.trim();
  // Where there is no keyboard beside the screen, one would open over the list.
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) input.current?.focus();
  }, []);
  return (
    <>
      <FindInput
        label="Name or id"
        value={typed}
        onType={onType}
        // The opener, which has the focus then, is not pressed too.
        onEnter={() => list.current?.querySelector('button')?.click()}
        input={input}
      />
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

interface RecordsOfProps extends Pick<RecordChoicesProps, 'value' | 'onPick'> {
  readonly kind: string;
  readonly title: string;
  readonly isAlone: boolean;
  /** What is looked for in names and ids. */
  readonly wanted: string;
}

function RecordsOf({ kind, title, isAlone, wanted, value, onPick }: RecordsOfProps) {
  const { options, more } = useRecords(kind, wanted) ?? {};
  if (!options || (options.length === 0 && !more)) return null;
  return (
    <fieldset class="record-group">
      <legend class={isAlone ? 'visually-hidden' : undefined}>{title}</legend>
      {options.map((option) => (
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
