import { useEffect, useRef, useState } from 'preact/hooks';
import { text } from '../text.ts';
import { type ListedTool, useTool } from '../tools.ts';
import { Button } from './button.tsx';
import { IssueText } from './form/field.tsx';
import { Mono } from './small.tsx';
import { EffectBadge, ToolCatalog } from './tool-catalog.tsx';

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
