import { useRef, useState } from 'preact/hooks';
import { Field } from '../../../components/form/field.tsx';
import { Button } from '../../../ui.ts';
import { type DataNode, templateFor } from './data-tree.ts';
import { InsertData } from './insert-data.tsx';

interface DataFieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly needed?: boolean;
  readonly issue?: string | undefined;
  readonly value: string;
  readonly onType: (value: string) => void;
  readonly rows?: number;
  readonly isCode?: boolean;
  /** As what is picked is written here. `alone`: nothing else stands in the field. Default: as a template. */
  readonly written?: (node: DataNode, alone: boolean) => string;
  /** Beside "Insert data". */
  readonly more?: preact.ComponentChildren;
}

/** A text into which data of earlier steps can be inserted by picking. */
export function DataField(props: DataFieldProps) {
  const { label, value, onType, rows = 1, isCode = false, more } = props;
  const [isOpen, setOpen] = useState(false);
  const { text, keepPlace, insert } = useInsertion(props);
  const opener = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    opener.current?.querySelector('button')?.focus();
  };
  const pick = (node: DataNode) => {
    insert(node);
    setOpen(false);
  };
  return (
    <div class="data-field">
      <Field label={label} hint={props.hint} needed={props.needed} issue={props.issue}>
        {(tied) => (
          <textarea
            class={isCode ? 'input code-input' : 'input'}
            {...tied}
            ref={text}
            rows={Math.min(14, Math.max(rows, value.split('\n').length))}
            spellcheck={!isCode}
            value={value}
            onInput={({ currentTarget }) => onType(currentTarget.value)}
            onBlur={keepPlace}
          />
        )}
      </Field>
      <div class="data-actions" ref={opener}>
        <Button
          look="quiet"
          icon="plus"
          text="Insert data"
          label={`Insert data: ${label}`}
          onClick={() => setOpen(!isOpen)}
        />
        {more}
      </div>
      {isOpen && <InsertData field={label} onPick={pick} onClose={close} />}
    </div>
  );
}

/** Inserts at the place where somebody was last in the text, and goes back there. */
function useInsertion({ value, onType, written = (node) => templateFor(node, false) }: DataFieldProps) {
  const place = useRef<readonly [number, number] | undefined>(undefined);
  const text = useRef<HTMLTextAreaElement>(null);
  const keepPlace = ({ currentTarget }: { readonly currentTarget: HTMLTextAreaElement }) => {
    place.current = [currentTarget.selectionStart, currentTarget.selectionEnd];
  };
  const insert = (node: DataNode) => {
    const [from, to] = place.current ?? [value.length, value.length];
    const added = written(node, `${value.slice(0, from)}${value.slice(to)}`.trim() === '');
    onType(`${value.slice(0, from)}${added}${value.slice(to)}`);
    const at = from + added.length;
    place.current = [at, at];
    requestAnimationFrame(() => {
      text.current?.focus();
      text.current?.setSelectionRange(at, at);
    });
  };
  return { text, keepPlace, insert };
}
