import { useId, useRef, useState } from 'preact/hooks';
import { go, text, useLocation } from '../app.ts';
import { AddTyped } from '../components/form/add-typed.tsx';
import { onToggle, placeBelow } from '../components/menu.tsx';
import { Button } from '../ui.ts';
import { type ColumnChoice, placeOf } from './columns.tsx';
import { type KindSpec, keptQuery } from './spec.ts';

interface ViewButtonProps {
  readonly spec: KindSpec;
  readonly choices: readonly ColumnChoice[];
  readonly shown: ReadonlySet<string>;
  readonly show: (id: string, isShown: boolean) => void;
}

type View = Readonly<{ name: string; query: string }>;

const MOST_VIEWS = 30;

/** The columns of a list, and views of it that are kept by name: filters, order and columns, as the address has them. */
export function ViewButton({ spec, ...columns }: ViewButtonProps) {
  const id = useId();
  const opener = useRef<HTMLSpanElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const toggled = (opens: boolean) => {
    setOpen(opens);
    if (opens && popover.current && opener.current) placeBelow(popover.current, opener.current, 'left', HEIGHT);
  };
  return (
    <span ref={opener}>
      <button type="button" class="filter-choice" popovertarget={id}>
        View
      </button>
      <div id={id} ref={popover} popover="auto" class="menu view-menu" {...onToggle(toggled)}>
        {isOpen && (
          <>
            <Views spec={spec} columns={[...columns.shown].join(',')} close={() => popover.current?.hidePopover()} />
            <Columns {...columns} />
          </>
        )}
      </div>
    </span>
  );
}

const HEIGHT = 380;

function Columns({ choices, shown, show }: Omit<ViewButtonProps, 'spec'>) {
  return (
    <fieldset class="view-part">
      <legend>Columns</legend>
      {choices.map(({ id, column }) => (
        <label key={id} class="check">
          <input
            type="checkbox"
            checked={shown.has(id)}
            onChange={({ currentTarget }) => show(id, currentTarget.checked)}
          />
          {column.title}
        </label>
      ))}
    </fieldset>
  );
}

interface ViewsProps {
  readonly spec: KindSpec;
  /** The ids of those that are shown, which belong to the view even where the address does not say them. */
  readonly columns: string;
  readonly close: () => void;
}

function Views({ spec, columns, close }: ViewsProps) {
  const { query } = useLocation();
  const [views, setViews] = useState(() => viewsOf(spec));
  const keep = (next: readonly View[]) => {
    localStorage.setItem(placeOf('views', spec), JSON.stringify(next.slice(0, MOST_VIEWS)));
    setViews(next);
  };
  const kept = keptQuery(
    new URLSearchParams([...[...query].filter(([name]) => name !== 'columns'), ['columns', columns]]),
  );
  return (
    <fieldset class="view-part">
      <legend>Views</legend>
      {views.map(({ name, query: at }) => (
        <span key={name} class="view-kept">
          <Button
            look="quiet"
            text={name}
            {...(at === kept && { icon: 'check' as const })}
            onClick={() => {
              close();
              go(`${spec.path}${at}`);
            }}
          />
          <Button
            look="quiet"
            icon="close"
            label={`${text.remove} ${name}`}
            onClick={() => keep(views.filter((view) => view.name !== name))}
          />
        </span>
      ))}
      <AddTyped
        label="Name of this view"
        placeholder="Name of this view"
        read={(typed) => typed.trim().slice(0, 60) || undefined}
        onAdd={(name) => keep([{ name, query: kept }, ...views.filter((view) => view.name !== name)])}
      >
        {(add, isNothing) => <Button text="Keep" disabled={isNothing} onClick={add} />}
      </AddTyped>
      <p class="hint">
        Filters, order and columns as they are now, kept in this browser. To share them, copy the address.
      </p>
    </fieldset>
  );
}

/** What is kept is read as the text of anybody: another version may have written it. */
function viewsOf(spec: KindSpec): readonly View[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(placeOf('views', spec)) ?? '[]');
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is View {
  const { name, query } = (value ?? {}) as Partial<View>;
  return typeof name === 'string' && typeof query === 'string' && /^(\?|$)/.test(query);
}
