import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface CanvasItem {
  readonly key: string;
  readonly card: ComponentChildren;
  /** Between this card and the next. */
  readonly after?: ComponentChildren;
}

interface CanvasProps {
  readonly label: string;
  readonly items: readonly CanvasItem[];
  /** The key of the card that is open. */
  readonly picked?: string | undefined;
  /** What belongs to it: beside the cards or, where there is no room, below its own. */
  readonly side?: ComponentChildren;
  /** What that is, for who cannot see where it stands. */
  readonly sideLabel?: string;
  readonly look?: string;
  /** Cards but the first can be dragged to another place. */
  readonly onMove?: (from: number, to: number) => void;
}

/** Cards one below the other, from what starts a flow to its last step. */
export function Canvas({ label, items, picked, side, sideLabel = 'Step', look = '', onMove }: CanvasProps) {
  const isNarrow = useNarrow();
  const drag = useDrag(onMove);
  const open = side !== undefined && side !== null && items.some(({ key }) => key === picked);
  const panel = open && (
    <section class="canvas-side" aria-label={sideLabel} key={picked}>
      {side}
    </section>
  );
  return (
    <div class={`canvas ${look} ${open && !isNarrow ? 'is-open' : ''}`}>
      <ol class="canvas-cards" aria-label={label}>
        {items.map(({ key, card, after }, index) => (
          <li key={index} class={drag.over === index ? 'is-over' : ''} {...drag.on(index)}>
            {onMove && index > 0 && (
              <span class="drag-handle" draggable aria-hidden="true" title="Drag to move">
                ⋮⋮
              </span>
            )}
            {card}
            {isNarrow && key === picked && panel}
            {after}
          </li>
        ))}
      </ol>
      {!isNarrow && panel}
    </div>
  );
}

/** Moves what is dragged to the place of the card it is dropped on. */
function useDrag(onMove: CanvasProps['onMove']) {
  const from = useRef<number | undefined>(undefined);
  const [over, setOver] = useState<number>();
  const on = (index: number) =>
    onMove
      ? {
          onDragStart: (event: DragEvent) => {
            from.current = index;
            event.dataTransfer?.setData('text/plain', String(index)); // Firefox drags nothing else
          },
          onDragOver: (event: DragEvent) => {
            if (from.current === undefined) return;
            event.preventDefault();
            setOver(index);
          },
          onDrop: (event: DragEvent) => {
            event.preventDefault();
            if (from.current !== undefined) onMove(from.current, index);
          },
          onDragEnd: () => {
            from.current = undefined;
            setOver(undefined);
          },
        }
      : {};
  return { over, on };
}

const NARROW = '(max-width: 760px)';

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const see = () => setNarrow(query.matches);
    query.addEventListener('change', see);
    return () => query.removeEventListener('change', see);
  }, []);
  return isNarrow;
}
