import { useLayoutEffect, useState } from 'preact/hooks';
import { useLocation } from '../../../app.ts';
import type { Members, PartProps } from '../../../components/form/state.ts';
import { duplicated, inserted, moved, replaced } from './step-changes.ts';
import { type Step, stepsOf } from './words.ts';

export const [TRIGGER, AGENT] = ['trigger', 'agent'] as const;

type Removed = Readonly<{ step: Step; at: number }>;

/** What is open on the canvas of a flow that is changed, and what can be done there. */
export function useEditing({ beside = {}, onBeside = () => undefined }: Pick<PartProps, 'beside' | 'onBeside'>) {
  const { query } = useLocation();
  const steps = stepsOf(beside.steps);
  const [picked, setPicked] = useState(() => firstPicked(steps, query.get('step'), beside));
  const [removed, setRemoved] = useState<Removed>();
  const setFocused = useFocus();
  const give = (next: readonly Step[]) => onBeside({ steps: next.length > 0 ? next : undefined });
  return {
    steps,
    picked,
    removed,
    beside,
    onBeside,
    open: setPicked,
    toggle: (key: string) => setPicked(key === picked ? undefined : key),
    change: (at: number, step: Step) => give(replaced(steps, at, step)),
    move(from: number, to: number) {
      if (to < 0 || to >= steps.length || from === to) return;
      give(moved(steps, from, to));
      if (picked !== undefined && indexIn(picked, 'step') !== undefined) setPicked(keyOf(to));
      setFocused(cardId(to));
    },
    insert(at: number, tool: string) {
      give(inserted(steps, at, tool));
      setPicked(keyOf(at));
      setFocused(cardId(at));
    },
    duplicate(at: number) {
      give(duplicated(steps, at));
      setPicked(keyOf(at + 1));
    },
    remove(at: number) {
      const step = steps[at];
      give(steps.toSpliced(at, 1));
      setRemoved(step && { step, at });
      setPicked(undefined);
    },
    undo() {
      if (removed) give(steps.toSpliced(removed.at, 0, removed.step));
      setRemoved(undefined);
      setPicked(undefined);
    },
    /** An agent does all of the work, or none does. */
    setAgent(agentId: '' | undefined) {
      onBeside(agentId === undefined ? { agentId, prompt: undefined } : { agentId });
      setPicked(agentId === undefined ? undefined : AGENT);
    },
  };
}

export type Editing = ReturnType<typeof useEditing>;

/** Gives the focus to an element once it is drawn. */
function useFocus(): (id: string) => void {
  const [focused, setFocused] = useState<string>();
  useLayoutEffect(() => {
    if (focused === undefined) return;
    document.getElementById(focused)?.focus();
    setFocused(undefined);
  }, [focused]);
  return setFocused;
}

export function keyOf(index: number): string {
  return `step ${index}`;
}

export function insertKey(index: number): string {
  return `insert ${index}`;
}

export function cardId(index: number): string {
  return `card-step-${index}`;
}

export function indexIn(picked: string | undefined, what: 'step' | 'insert'): number | undefined {
  const [word, index] = picked?.split(' ') ?? [];
  return word === what && index !== undefined ? Number(index) : undefined;
}

/** The step that the address names; of a new flow, what starts it. */
function firstPicked(steps: readonly Step[], named: string | null, { id, agentId }: Members): string | undefined {
  const at = steps.findIndex((step) => step.id === named);
  if (at >= 0) return keyOf(at);
  return steps.length === 0 && id === undefined && agentId === undefined ? TRIGGER : undefined;
}
