import { useMemo, useState } from 'preact/hooks';
import { useAnswer } from '../../store.ts';
import { text } from '../../text.ts';
import { useTools } from '../../tools.ts';
import { Button } from '../button.tsx';
import { Icon } from '../icon.tsx';
import { Frame } from './groups.tsx';
import type { PartProps } from './state.ts';
import { hintOf, titleOf } from './state-words.ts';

interface Category {
  readonly category: string;
  readonly tools: readonly { readonly name: string; readonly title: string; readonly description: string }[];
}

/** A list of tool names and patterns: what is listed stands as chips, below it are all tools to pick from. */
export function ToolsControl(props: PartProps) {
  const { value, onChange, needed } = props;
  const entries = Array.isArray(value) ? value.map(String) : [];
  const give = (next: readonly string[]) => onChange(next.length > 0 || needed ? next : undefined);
  const [typed, setTyped] = useState('');
  const [opened, setOpened] = useState(false);
  const add = (entry: string) => {
    if (entry !== '' && !entries.includes(entry)) give([...entries, entry]);
    setTyped('');
  };
  // Most lists of tools that are refused stay empty; a button takes less room than all tools.
  if (isEmptyRefusal(props.name, entries) && !opened) {
    return (
      <div class="field">
        <Button icon="plus" onClick={() => setOpened(true)}>{`Set ${titleOf(props).toLowerCase()}`}</Button>
        <p class="hint">{hintOf(props.schema)}</p>
      </div>
    );
  }
  return (
    <Frame {...props}>
      {entries.length > 0 && (
        <ul class="entry-chips" aria-label="Listed">
          {entries.map((entry) => (
            <li key={entry} class="chip removable">
              <span class="mono">{entry}</span>
              <button
                type="button"
                aria-label={`${text.remove} ${entry}`}
                onClick={() => give(entries.filter((other) => other !== entry))}
              >
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="entry-add">
        <label class="filter-text">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Find tools, or type a pattern such as list_*"
            aria-label="Find tools, or type a pattern"
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value.trim())}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              add(typed);
            }}
          />
        </label>
        {typed.includes('*') && <Button icon="plus" onClick={() => add(typed)}>{`Add ${typed}`}</Button>}
      </div>
      <ToolChoices entries={entries} typed={typed} give={give} />
    </Frame>
  );
}

function ToolChoices({
  entries,
  typed,
  give,
}: {
  readonly entries: readonly string[];
  readonly typed: string;
  readonly give: (entries: readonly string[]) => void;
}) {
  const { data } = useAnswer<{ data: readonly Category[] }>('list_tool_categories');
  const tools = useTools();
  const globs = useMemo(() => entries.filter(isGlob).map((entry) => ({ entry, test: globTest(entry) })), [entries]);
  const found = typed.includes('*') ? globTest(typed) : undefined;
  const matches = ({ name, title }: Category['tools'][number]) =>
    found ? found.test(name) : `${name} ${title}`.toLowerCase().includes(typed.toLowerCase());
  const groups = (data?.data ?? [])
    .map(({ category, tools: all }) => ({ category, tools: all.filter(matches) }))
    .filter(({ tools: shown }) => shown.length > 0);
  return (
    <div class="tool-choices">
      {groups.map(({ category, tools: shown }) => (
        <fieldset key={category}>
          <legend>{category}</legend>
          {shown.map(({ name, title, description }) => {
            const glob = globs.find(({ test }) => test.test(name))?.entry;
            const { readOnlyHint, destructiveHint } = tools?.get(name)?.annotations ?? {};
            return (
              <label key={name} class="tool-choice" title={description.replaceAll('`', '')}>
                <input
                  type="checkbox"
                  checked={entries.includes(name) || glob !== undefined}
                  disabled={glob !== undefined && !entries.includes(name)}
                  onChange={({ currentTarget }) =>
                    give(currentTarget.checked ? [...entries, name] : entries.filter((entry) => entry !== name))
                  }
                />
                <span>{title}</span>
                <span class="faint mono">{glob ?? name}</span>
                {!readOnlyHint && (
                  <span class={destructiveHint ? 'dot alarm' : 'dot warn'}>
                    <span class="only-heard">{destructiveHint ? 'can destroy' : 'writes'}</span>
                  </span>
                )}
              </label>
            );
          })}
        </fieldset>
      ))}
      {data && groups.length === 0 && <p class="hint">No tool has such a name.</p>}
    </div>
  );
}

function isEmptyRefusal(name: string, entries: readonly string[]): boolean {
  return name.startsWith('denied') && entries.length === 0;
}

function isGlob(entry: string): boolean {
  return entry.includes('*');
}

function globTest(glob: string): RegExp {
  const parts = glob.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}
