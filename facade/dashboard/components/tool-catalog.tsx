import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useAnswer } from '../store.ts';
import { type ListedTool, type Tools, useMay, useTools } from '../tools.ts';
import { FindInput } from './find-input.tsx';
import { Badge, type Tone } from './small.tsx';

type Category = Readonly<{ category: string; tools: readonly { readonly name: string }[] }>;

interface ToolCatalogProps {
  /** Which tools are there to pick from. Default: all that the person may call. */
  readonly isOffered?: (tool: ListedTool) => boolean;
  /** Return in the search picks the first tool that is found. */
  readonly onFirst?: (name: string) => void;
  /** Draws one tool. */
  readonly choice: (tool: ListedTool) => ComponentChildren;
}

/** The tools that the person may call, by category, with a search by name and title. */
export function ToolCatalog({ isOffered, onFirst, choice }: ToolCatalogProps) {
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
      <section class="tool-choices" tabIndex={0} aria-label="All tools">
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
