import { text } from '../../text.ts';
import { Button } from '../button.tsx';

interface MoveButtonsProps<Item> {
  readonly items: readonly Item[];
  readonly index: number;
  /** What the item is called: `Step 1`. */
  readonly name: string;
  readonly onChange: (items: readonly Item[]) => void;
}

/** Puts an item of a list before or after its neighbour, or removes it. */
export function MoveButtons<Item>({ items, index, name, onChange }: MoveButtonsProps<Item>) {
  const without = items.filter((_, at) => at !== index);
  const moveTo = (at: number) => onChange(without.toSpliced(at, 0, ...items.slice(index, index + 1)));
  const earlier = { label: `${name} earlier`, disabled: index === 0, onClick: () => moveTo(index - 1) };
  const later = { label: `${name} later`, disabled: index === items.length - 1, onClick: () => moveTo(index + 1) };
  const remove = { label: `${text.remove} ${name.replace(/^Step/, 'step')}`, onClick: () => onChange(without) };
  return (
    <span class="page-actions">
      <Button look="quiet" icon="up" {...earlier} />
      <Button look="quiet" icon="down" {...later} />
      <Button look="quiet" icon="trash" {...remove} />
    </span>
  );
}
