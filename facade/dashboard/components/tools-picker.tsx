import { useMemo } from 'preact/hooks';
import { counted, number } from '../format.ts';
import { text } from '../text.ts';
import { type ListedTool, type Tools, useTools } from '../tools.ts';
import { Button } from './button.tsx';
import { AddTyped } from './form/add-typed.tsx';
import { Frame } from './form/groups.tsx';
import { nestedIssue, type PartProps, titleOf } from './form/state.ts';
import { Icon } from './icon.tsx';
import { Mono } from './small.tsx';
import { EffectBadge, ToolCatalog } from './tool-catalog.tsx';

/** `allWide`: patterns match tools for administrators and those of integrations too, as in `askFirst`. */
type PickerProps = PartProps & { readonly allWide?: boolean | undefined };

/** Picks the tools of an allowlist, by name or by pattern, and shows at once which ones that are. */
export function ToolsPicker({ allWide = false, ...props }: PickerProps) {
  const { value, onChange, needed } = props;
  const tools = useTools();
  const entries: readonly string[] = Array.isArray(value) ? value : [];
  const matched = useMemo(() => matchedBy(entries, tools, allWide), [entries, tools]);
  const give = (next: readonly string[]) => onChange(next.length > 0 || needed ? next : undefined);
  return (
    <Frame {...props} issue={nestedIssue(props)}>
      <Entries
        entries={entries}
        matched={matched}
        onRemove={(entry) => give(entries.filter((other) => other !== entry))}
      />
      <AddPattern onAdd={(entry) => !entries.includes(entry) && give([...entries, entry])} />
      <Effect matched={matched} tools={tools} allWide={allWide} />
      <ToolCatalog
        label={`All tools: ${titleOf(props)}`}
        onFirst={(name) => !entries.includes(name) && give([...entries, name])}
        choice={(tool) => (
          <ToolChoice
            key={tool.name}
            tool={tool}
            by={matched.get(tool.name) ?? []}
            onPick={(on) => give(on ? [...entries, tool.name] : entries.filter((entry) => entry !== tool.name))}
          />
        )}
      />
    </Frame>
  );
}

/** The entries that match each tool. */
type Matched = ReadonlyMap<string, readonly string[]>;

function matchedBy(entries: readonly string[], tools: Tools | undefined, allWide: boolean): Matched {
  const tests = entries.map((entry) => ({ entry, test: patternTest(entry, allWide) }));
  const names = [...(tools?.keys() ?? [])];
  const found = names.map((name) => [name, tests.filter(({ test }) => test(name)).map(({ entry }) => entry)] as const);
  return new Map(found.filter(([, by]) => by.length > 0));
}

/** As the server matches: `*` stands for anything, but reaches into an integration only where it names that. */
export function patternTest(entry: string, allWide = false): (name: string) => boolean {
  if (!entry.includes('*')) return (name) => name === entry;
  const pattern = new RegExp(`^${entry.split('*').map(escaped).join('.*')}$`);
  return (name) => pattern.test(name) && (allWide || entry.includes('__') || !name.includes('__'));
}

function escaped(words: string): string {
  return words.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
}

type EntriesProps = Readonly<{ entries: readonly string[]; matched: Matched; onRemove: (entry: string) => void }>;

function Entries({ entries, matched, onRemove }: EntriesProps) {
  if (entries.length === 0) return <p class="quiet">No tools yet: pick some below, or add a pattern such as list_*.</p>;
  const count = (entry: string) => [...matched.values()].filter((by) => by.includes(entry)).length;
  return (
    <ul class="picked-entries">
      {entries.map((entry) => (
        <li key={entry} class={count(entry) === 0 ? 'picked-entry none' : 'picked-entry'}>
          <Mono>{entry}</Mono>
          {entry.includes('*') && <span class="faint">{count(entry)}</span>}
          {count(entry) === 0 && <span class="faint">matches nothing</span>}
          <button
            type="button"
            class="picked-remove"
            aria-label={`${text.remove} ${entry}`}
            onClick={() => onRemove(entry)}
          >
            <Icon name="close" size={12} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function AddPattern({ onAdd }: { readonly onAdd: (entry: string) => void }) {
  return (
    <AddTyped
      label="Name or pattern of tools"
      placeholder="get_* or search"
      read={(typed) => typed.trim() || undefined}
      onAdd={onAdd}
    >
      {(add) => <Button text={text.add} onClick={add} />}
    </AddTyped>
  );
}

interface EffectProps {
  readonly matched: Matched;
  readonly tools: Tools | undefined;
  readonly allWide: boolean;
}

function Effect({ matched, tools, allWide }: EffectProps) {
  const found = [...matched.keys()].flatMap((name) => tools?.get(name) ?? []);
  const writes = found.filter(({ annotations }) => !annotations?.readOnlyHint).length;
  const effect = writes === 0 ? 'which only read' : `${number(writes)} of which change something`;
  return (
    <p class="effect" role="status">
      <strong>{counted(found.length, 'tool')}</strong>
      <span class="quiet">
        {found.length > 0 && `, ${effect}`}.
        {!allWide && ' Tools for administrators count only where they are named one by one.'}
      </span>
    </p>
  );
}

interface ToolChoiceProps {
  readonly tool: ListedTool;
  /** The entries that match it. */
  readonly by: readonly string[];
  readonly onPick: (on: boolean) => void;
}

function ToolChoice({ tool, by, onPick }: ToolChoiceProps) {
  const pattern = by.find((entry) => entry !== tool.name);
  return (
    <label class="check tool-choice" title={tool.description?.replaceAll('`', '')}>
      <input
        type="checkbox"
        checked={by.length > 0}
        disabled={pattern !== undefined && !by.includes(tool.name)}
        onChange={({ currentTarget }) => onPick(currentTarget.checked)}
      />
      <span class="tool-choice-name">{tool.title ?? tool.name}</span>
      {pattern !== undefined && <span class="faint">by {pattern}</span>}
      <EffectBadge {...tool} />
    </label>
  );
}
