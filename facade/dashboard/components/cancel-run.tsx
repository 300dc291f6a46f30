import type { ComponentChildren } from 'preact';
import { act } from '../store.ts';
import { useMay } from '../tools.ts';
import { AskButton } from './action.tsx';

interface CancelRunProps {
  readonly tool: 'cancel_agent_run' | 'cancel_flow_run';
  readonly id: string;
  /** What stays done, for whoever is asked. */
  readonly children: ComponentChildren;
}

/** Ends a run, once asked whether it should. Nothing for people who may not. */
export function CancelRun({ tool, id, children }: CancelRunProps) {
  const may = useMay(tool);
  if (!may) return null;
  const ask = { title: 'Cancel this run?', action: 'Cancel run', run: () => act(tool, { id }) };
  return (
    <AskButton text="Cancel" icon="stop" ask={ask}>
      <p>{children}</p>
    </AskButton>
  );
}
