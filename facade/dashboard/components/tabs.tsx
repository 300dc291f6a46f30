import type { ComponentChildren } from 'preact';
import { setQuery, useLocation } from '../router.ts';

export type Tab = Readonly<{ id: string; label: string; count?: number | undefined; content: () => ComponentChildren }>;

/** Tabs of a page; which one is open stands in the address. */
export function Tabs({ tabs, name = 'tab', label }: Readonly<{ tabs: readonly Tab[]; name?: string; label: string }>) {
  const { query } = useLocation();
  const open = tabs.find(({ id }) => id === query.get(name)) ?? tabs[0];
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const next = open && tabs[(tabs.indexOf(open) + step + tabs.length) % tabs.length];
    if (step === 0 || !next) return;
    event.preventDefault();
    setQuery({ [name]: next.id });
    document.getElementById(`tab-${name}-${next.id}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ id, label: words, count }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${name}-${id}`}
            aria-selected={id === open?.id}
            aria-controls={`panel-${name}`}
            tabIndex={id === open?.id ? 0 : -1}
            onClick={() => setQuery({ [name]: id === tabs[0]?.id ? undefined : id })}
          >
            {words} {count !== undefined && <span class="count">{count}</span>}
          </button>
        ))}
      </div>
      <div
        class="tab-panel"
        role="tabpanel"
        id={`panel-${name}`}
        aria-labelledby={`tab-${name}-${open?.id}`}
        key={open?.id}
      >
        {open?.content()}
      </div>
    </div>
  );
}

/** A choice of few, as buttons in a row. */
export function Segments<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
}) {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value} class={option.value === value ? 'segment picked' : 'segment'}>
          <input
            type="radio"
            class="visually-hidden"
            name={label}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
