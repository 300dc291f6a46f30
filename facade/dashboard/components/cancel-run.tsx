import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../store.ts';
import { useMay } from '../tools.ts';
import { Button } from './button.tsx';
import { ConfirmDialog } from './dialog.tsx';

interface CancelRunProps {
  readonly tool: 'cancel_agent_run' | 'cancel_flow_run';
  readonly id: string;
  /** What stays done, for whoever is asked. */
  readonly children: ComponentChildren;
}

/** Ends a run, once asked whether it should. Nothing for people who may not. */
export function CancelRun({ tool, id, children }: CancelRunProps) {
  const may = useMay(tool);
  const [asks, setAsks] = useState(false);
  if (!may) return null;
  return (
    <>
      <Button text="Cancel" icon="stop" onClick={() => setAsks(true)} />
      {asks && (
        <ConfirmDialog
          title="Cancel this run?"
          action="Cancel run"
          run={() => act(tool, { id })}
          onClose={() => setAsks(false)}
        >
          <p>{children}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
