import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { Button, type ButtonProps } from './button.tsx';
import type { PartProps } from './form/state.ts';
import { NobodyApproves } from './only-approver.tsx';
import { ToolsPicker } from './tools-picker.tsx';

interface Folded extends Pick<Parameters<typeof ToolsPicker>[0], 'allWide'> {
  readonly text: string;
  readonly icon: ButtonProps['icon'];
  readonly hint: string;
  /** Shown where the list has something in it. */
  readonly note?: ComponentType;
}

/** A picker for a list that is mostly empty: all tools are shown to pick from only on request. */
export function foldedTools({ text, icon, hint, allWide, note: Note }: Folded) {
  return function FoldedTools(props: PartProps) {
    const [opened, setOpened] = useState(false);
    const isEmpty = !Array.isArray(props.value) || props.value.length === 0;
    if (!isEmpty || opened) {
      return (
        <>
          <ToolsPicker {...props} allWide={allWide} />
          {!isEmpty && Note && <Note />}
        </>
      );
    }
    return (
      <div class="field">
        <Button text={text} icon={icon} onClick={() => setOpened(true)} />
        <p class="hint">{hint}</p>
      </div>
    );
  };
}

export const AskFirst = foldedTools({
  text: 'Ask a person first',
  icon: 'person',
  hint: 'Calls of these tools wait until somebody approves them, under Approvals.',
  allWide: true,
  note: NobodyApproves,
});
