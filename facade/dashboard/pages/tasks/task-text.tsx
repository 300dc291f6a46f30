import { useState } from 'preact/hooks';
import { act, useAnswer, useMay } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import { Prose } from '../../components/prose.tsx';
import type { Row } from '../../kind/spec.ts';
import { Button } from '../../ui.ts';

/** The text of a task, which has a revision of its own. */
export function TaskText({ row }: { readonly row: Row }) {
  const { data } = useAnswer<Row>('get_task_document', { id: row.id });
  const may = useMay('update_task_document');
  const [edits, setEdits] = useState(false);
  if (!data) return null;
  const save = async (input: Row) => {
    await act('update_task_document', { ...input, id: row.id, expectedRevision: data.revision });
    setEdits(false);
  };
  if (edits) {
    return (
      <Form
        tool="update_task_document"
        record={data}
        given={{ id: row.id }}
        run={save}
        onCancel={() => setEdits(false)}
      />
    );
  }
  return (
    <section class="block" aria-label="Text">
      <header class="section-head">
        <h2>Text</h2>
        {may && <Button text={data.content ? 'Edit text' : 'Write text'} onClick={() => setEdits(true)} />}
      </header>
      {data.content ? <Prose text={String(data.content)} /> : <p class="quiet">Nothing is written yet.</p>}
    </section>
  );
}
