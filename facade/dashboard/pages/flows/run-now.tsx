import { useState } from 'preact/hooks';
import { act, go, useMay } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import type { Row } from '../../kind/spec.ts';
import { Button, Dialog } from '../../ui.ts';

/** Starts a run, with an input where the flow needs one, and shows it. */
export function RunNow({ row }: { readonly row: Row }) {
  const may = useMay('trigger_flow');
  const [asks, setAsks] = useState(false);
  if (!may) return null;
  const start = async (input: object) => {
    const run = await act<{ id: string }>('trigger_flow', { ...input, id: row.id });
    setAsks(false);
    go(`/flows/${encodeURIComponent(String(row.id))}?tab=runs&run=${encodeURIComponent(run.id)}`);
  };
  return (
    <>
      <Button text="Run now" icon="play" look="primary" onClick={() => setAsks(true)} />
      {asks && (
        <Dialog title={`Run ${String(row.name)}`} size="m" onClose={() => setAsks(false)}>
          <Form
            tool="trigger_flow"
            given={{ id: row.id }}
            hidden={['wait']}
            action="Run now"
            run={start}
            onCancel={() => setAsks(false)}
          />
        </Dialog>
      )}
    </>
  );
}
