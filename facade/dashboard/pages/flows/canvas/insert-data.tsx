import { useEffect, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../../../app.ts';
import { FindInput } from '../../../components/find-input.tsx';
import type { JsonSchema } from '../../../schema.ts';
import { Button } from '../../../ui.ts';
import { type DataNode, dataTree, found } from './data-tree.ts';
import { type DataSource, useKnownData } from './known-data.ts';

interface InsertDataProps {
  /** Of the field that it inserts into. */
  readonly field: string;
  readonly onPick: (node: DataNode) => void;
  readonly onClose: () => void;
}

/** What is known when the step begins, as a tree with a search. Picking inserts it. */
export function InsertData({ field, onPick, onClose }: InsertDataProps) {
  const known = useKnownData();
  const [typed, setTyped] = useState('');
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => search.current?.focus(), []);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes it, wherever within it the focus is
    <div
      class="data-panel"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onClose();
      }}
    >
      <FindInput label="Find data" input={search} value={typed} onType={setTyped} onEnter={() => undefined} />
      <section aria-label={`Data for ${field}`} class="data-tree">
        <ul>
          {known.map((source) => (
            <Source key={source.path} source={source} typed={typed} onPick={onPick} />
          ))}
        </ul>
      </section>
      <InputMember onPick={onPick} />
      <div class="actions">
        <Button text="Close" onClick={onClose} />
      </div>
    </div>
  );
}

type SourceProps = Readonly<{ source: DataSource; typed: string; onPick: (node: DataNode) => void }>;

/** An answer or input; of a tool, as its complete schema says. */
function Source({ source, typed, onPick }: SourceProps) {
  const { tool, label, path, sample } = source;
  const { data } = useAnswer<Described>(tool ? 'describe_tool' : undefined, { name: tool, output: true });
  const node = dataTree({ label, path, schema: source.schema ?? data?.outputSchema, sample });
  const isSearch = typed.trim() !== '';
  return (
    <>
      {found([node], typed).map((one) => (
        <Node key={one.path} node={one} isOpen onPick={onPick} isSearch={isSearch} />
      ))}
    </>
  );
}

type Described = { readonly outputSchema?: JsonSchema };

type NodeProps = Readonly<{
  node: DataNode;
  isOpen?: boolean;
  isSearch: boolean;
  onPick: (node: DataNode) => void;
}>;

function Node({ node, isOpen = false, isSearch, onPick }: NodeProps) {
  const [chosen, setChosen] = useState<boolean>();
  const hasInner = node.children.length > 0;
  const opened = hasInner && (chosen ?? (isOpen || isSearch));
  return (
    <li>
      <span class="data-row">
        {hasInner ? (
          <button
            type="button"
            class="data-toggle"
            aria-expanded={opened}
            aria-label={`Inside ${node.label}`}
            onClick={() => setChosen(!opened)}
          >
            {opened ? '▾' : '▸'}
          </button>
        ) : (
          <span class="data-toggle" />
        )}
        <button type="button" class="data-pick" title={node.path} onClick={() => onPick(node)}>
          <span>{node.label}</span>
          <span class="faint">{node.sample ?? node.kind}</span>
        </button>
      </span>
      {opened && (
        <ul>
          {node.children.map((inner) => (
            <Node key={inner.path} node={inner} isSearch={isSearch} onPick={onPick} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** A member of the input that nothing tells of yet. */
function InputMember({ onPick }: Pick<InsertDataProps, 'onPick'>) {
  const [name, setName] = useState('');
  const isName = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(name.trim());
  const path = `input.${name.trim()}`;
  const pick = () => isName && onPick({ label: name, path, kind: 'value', children: [] });
  return (
    <div class="add-pattern">
      <input
        class="input"
        aria-label="Another member of what starts it"
        placeholder="Another member of what starts it"
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          pick();
        }}
      />
      <Button text="Insert" disabled={!isName} onClick={pick} />
    </div>
  );
}
