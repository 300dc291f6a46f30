import type { ButtonHTMLAttributes, ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
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
  const { typed, setTyped, input, type } = useTyping();
  const enter = useEnter();
  const [isOpen, setOpen] = useState(false);
  const pick = (picked: string) => {
    popover.current?.hidePopover();
    onPick(picked);
  };
  const toggled = (opens: boolean) => {
    setOpen(opens);
    if (!opens) {
      setTyped('');
      enter.forget();
    }
    if (opens && popover.current && opener.current) placeBelow(popover.current, opener.current, 'left', LIST_HEIGHT);
  };
  // What is typed on the button is looked for, as in a list of the browser's own.
  const begin = (event: KeyboardEvent) => {
    const isOpening = popover.current?.matches(':popover-open');
    const isLetter = event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey && !event.altKey;
    const isEnter = event.key === 'Enter' && isOpening && typed !== '';
    if (!isLetter && !isEnter && event.key !== 'ArrowDown') return;
    event.preventDefault();
    if (isEnter) enter.press();
    if (isLetter) type(event.key);
    if (!isOpening) popover.current?.showPopover();
  };
  const state = button.role === 'combobox' && { 'aria-expanded': isOpen, 'aria-controls': id };
  return (
    <>
      <button type="button" ref={opener} popovertarget={id} onKeyDown={begin} {...button} {...state}>
        {children}
      </button>
      <div id={id} ref={popover} popover="auto" class="menu record-choices" {...onToggle(toggled)}>
        {isOpen && (
          <RecordChoices
            {...{ kinds, value, typed, input, enter }}
            onType={(now) => {
              enter.forget();
              setTyped(now);
            }}
            onPick={pick}
          />
        )}
        {isOpen && make?.(typed.trim(), () => popover.current?.hidePopover())}
      </div>
    </>
  );
}

function useTyping() {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  /** The field may be there already and not have the focus yet: then it holds more than was drawn. */
  const type = (letter: string) => {
    const field = input.current;
    if (field) field.value += letter;
    setTyped((now) => (field ? field.value : now + letter));
  };
  return { typed, setTyped, input, type };
}

/** Enter picks the first record of the list, once it is known which that is. */
function useEnter() {
  const list = useRef<HTMLDivElement>(null);
  const isPressed = useRef(false);
  const press = () => {
    isPressed.current = !list.current || list.current.querySelector('[aria-busy="true"]') !== null;
    if (!isPressed.current) list.current?.querySelector('button')?.click();
  };
  const forget = () => {
    isPressed.current = false;
  };
  const loaded = () => {
    if (isPressed.current) press();
  };
  return { list, press, forget, loaded };
}

interface RecordChoicesProps {
  readonly kinds: Kinds;
  readonly value: string;
  readonly typed: string;
  readonly input: RefObject<HTMLInputElement | null>;
  readonly enter: ReturnType<typeof useEnter>;
  readonly onType: (typed: string) => void;
  readonly onPick: (id: string) => void;
}

function RecordChoices(props: RecordChoicesProps) {
  const { kinds, value, typed, input, enter, onType, onPick } = props;
  const wanted = typed.trim();
  // Where there is no keyboard beside the screen, one would open over the list.
  useLayoutEffect(() => {
    if (matchMedia('(pointer: fine)').matches) input.current?.focus();
  }, []);
  return (
    <>
      <FindInput
        label="Name or id"
        value={typed}
        onType={onType}
        // The opener, which has the focus then, is not pressed too.
        onEnter={enter.press}
        input={input}
      />
      <div class="record-list" ref={enter.list}>
        {Object.entries(kinds).map(([kind, title], _, all) => (
          <RecordsOf
            key={kind}
            isAlone={all.length === 1}
            {...{ kind, title, wanted, value, onPick }}
            onLoaded={enter.loaded}
          />
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
  readonly onLoaded: () => void;
}

function RecordsOf({ kind, title, isAlone, wanted, value, onPick, onLoaded }: RecordsOfProps) {
  const { options, more, loading = false } = useRecords(kind, wanted) ?? {};
  useEffect(() => {
    if (!loading) onLoaded();
  }, [loading]);
  if (!options || (options.length === 0 && !more)) return <div hidden aria-busy={loading} />;
  return (
    <fieldset class="record-group" aria-busy={loading}>
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
