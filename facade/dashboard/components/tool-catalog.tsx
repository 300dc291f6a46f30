import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../answer-cache.ts';
import { text } from '../text.ts';
import { type ListedTool, type Tools, useMay, useTool, useTools } from '../tools.ts';
import { Button } from './button.tsx';
import { FindInput } from './find-input.tsx';
import { IssueText } from './form/field.tsx';
import { Badge, Mono, type Tone } from './small.tsx';

type Category = Readonly<{ category: string; tools: readonly { readonly name: string }[] }>;

interface ToolCatalogProps {
  readonly label?: string;
  /** Which tools are there to pick from. Default: all that the person may call. */
  readonly isOffered?: (tool: ListedTool) => boolean;
  /** Return in the search picks the first tool that is found. */
  readonly onFirst?: (name: string) => void;
  /** Draws one tool. */
  readonly choice: (tool: ListedTool) => ComponentChildren;
}

/** The tools that the person may call, by category, with a search by name and title. */
export function ToolCatalog({ label = 'All tools', isOffered, onFirst, choice }: ToolCatalogProps) {
  const mayGroup = useMay('list_tool_categories');
  const { data } = useAnswer<{ data: readonly Category[] }>(mayGroup ? 'list_tool_categories' : undefined);
  const tools = useTools();
  const [typed, setTyped] = useState('');
  const all = useMemo(() => grouped(tools, data?.data ?? []), [tools, data]);
  const isFound = (tool: ListedTool) =>
    `${tool.name} ${tool.title}`.toLowerCase().includes(typed.trim().toLowerCase()) && (isOffered?.(tool) ?? true);
  const groups = all
    .map((group) => ({ ...group, tools: group.tools.filter(isFound) }))
    .filter((group) => group.tools.length > 0);
  const first = groups[0]?.tools[0]?.name;
  return (
    <>
      <FindInput
        label="Find tools"
        value={typed}
        onType={setTyped}
        onEnter={() => first !== undefined && onFirst?.(first)}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it */}
      <section class="tool-choices" tabIndex={0} aria-label={label}>
        {groups.map(({ category, tools: members }) => (
          <fieldset key={category} class="tool-choice-group">
            <legend>{category}</legend>
            {members.map(choice)}
          </fieldset>
        ))}
        {groups.length === 0 && tools && <p class="hint pad">No tool has a name like this.</p>}
      </section>
    </>
  );
}

/** By category; what none names stands at the end. */
function grouped(tools: Tools | undefined, categories: readonly Category[]) {
  const left = new Map(tools);
  const groups = categories.map(({ category, tools: members }) => ({
    category,
    tools: members.flatMap(({ name }) => {
      const tool = left.get(name);
      left.delete(name);
      return tool ?? [];
    }),
  }));
  return [...groups, { category: groups.length > 0 ? 'Others' : 'Tools', tools: [...left.values()] }];
}

/** What a call of the tool does, where it does more than read, or says `reads`. */
export function EffectBadge({ annotations, reads }: EffectBadgeProps) {
  const { readOnlyHint, destructiveHint } = annotations ?? {};
  if (readOnlyHint) return reads ? <Badge tone={reads}>Reads</Badge> : null;
  return <Badge tone={destructiveHint ? 'alarm' : 'warn'}>{destructiveHint ? 'Can destroy' : 'Writes'}</Badge>;
}

/** `reads`: the colour in which a tool that reads says so. */
type EffectBadgeProps = Pick<ListedTool, 'annotations'> & { readonly reads?: Tone };

interface ToolPickerProps {
  /** The name of the picked tool. Empty: none yet. */
  readonly name: string;
  readonly issue?: string | undefined;
  readonly needed?: boolean;
  /** Which tools are there to pick from. Default: all that the person may call. */
  readonly isOffered?: (tool: ListedTool) => boolean;
  readonly onPick: (name: string) => void;
}

/** One tool, found by a search through all of them, each with what it does; folded once it is picked. */
export function ToolPicker({ name, issue, needed = false, isOffered, onPick }: ToolPickerProps) {
  const [isAgain, setAgain] = useState(false);
  const picks = isAgain || name === '';
  const folded = useRef<HTMLDivElement>(null);
  const hasPicked = useRef(false);
  useEffect(() => {
    if (!picks && hasPicked.current) folded.current?.querySelector('button')?.focus();
  }, [picks]);
  const pick = (picked: string) => {
    hasPicked.current = true;
    if (picked !== name) onPick(picked);
    setAgain(false);
  };
  return (
    <div class={issue ? 'field wrong' : 'field'}>
      <p class="label">
        <span>Tool</span>
        {needed && <span class="needed">{text.needed}</span>}
      </p>
      {picks ? (
        <ToolCatalog
          {...(isOffered && { isOffered })}
          onFirst={pick}
          choice={(offered) => (
            <ToolChoice key={offered.name} tool={offered} isPicked={offered.name === name} onPick={pick} />
          )}
        />
      ) : (
        <div class="picked-tool" ref={folded}>
          <PickedTool name={name} />
          <Button text="Pick another tool" onClick={() => setAgain(true)} />
        </div>
      )}
      <IssueText issue={issue} />
    </div>
  );
}

type ToolChoiceProps = Readonly<{ tool: ListedTool; isPicked: boolean; onPick: (name: string) => void }>;

function ToolChoice({ tool, isPicked, onPick }: ToolChoiceProps) {
  return (
    <button type="button" class="tool-choice pick" aria-pressed={isPicked} onClick={() => onPick(tool.name)}>
      <span class="tool-choice-name">{tool.title ?? tool.name}</span>
      <span class="faint tool-choice-says">{sentenceOf(tool)}</span>
      <EffectBadge {...tool} />
    </button>
  );
}

function PickedTool({ name }: { readonly name: string }) {
  const tool = useTool(name);
  return (
    <span class="name-words">
      <span>
        <strong>{tool?.title ?? name}</strong> {tool?.title !== undefined && <Mono>{name}</Mono>}
      </span>
      <span class="quiet">{tool ? sentenceOf(tool) : 'There is no such tool now, or you may not call it.'}</span>
    </span>
  );
}

/** The first sentence of its description. */
function sentenceOf({ description = '' }: ListedTool): string {
  return (/^.*?[.](?=\s|$)/s.exec(description)?.[0] ?? description).replaceAll('`', '');
}
