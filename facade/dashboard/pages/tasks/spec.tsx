import { useState } from 'preact/hooks';
import { act, setQuery, useAnswer, useMay, usePlace } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import { Prose } from '../../components/prose.tsx';
import { Badge, Time } from '../../components/small.tsx';
import { type Row, specOf } from '../../kind/spec.ts';
import { Button, Segments } from '../../ui.ts';

export const taskSpec = specOf('task', {
  empty: 'Work for people and agents, with a text of its own.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge value={String(row.status)} />, width: '7.5rem' },
    { title: 'Priority', cell: (row: Row) => <Badge value={String(row.priority)} />, spare: 2 },
    { title: 'Due', cell: (row: Row) => <Time at={row.dueAt as string} />, end: true, spare: 2 },
  ],
  headControls: ViewChoice,
  below: TaskText,
});

const VIEWS = [
  { value: 'board', label: 'Board' },
  { value: 'list', label: 'List' },
] as const;

/** Tasks by their state, or one below the other. It stands in the address. */
export function ViewChoice() {
  const { parts, query } = usePlace();
  if (parts.length > 1) return null;
  return (
    <Segments
      label="View"
      value={query.get('view') === 'list' ? 'list' : 'board'}
      options={VIEWS}
      onChange={(value) => setQuery({ view: value === 'list' ? 'list' : undefined })}
    />
  );
}

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
