import { useState } from 'preact/hooks';
import { act, type ListAnswer, setQuery, useAnswer, useLocation } from '../app.ts';
import { Form } from '../components/form/form.tsx';
import { Prose } from '../components/prose.tsx';
import { KindPage, NoneYet, type Row, specOf } from '../kind/kind-page.tsx';
import { Badge, Button, LinkButton, PageBody, Segments, Time } from '../ui.ts';
import { Board } from './tasks/board.tsx';

export function Page() {
  const { query, parts } = useLocation();
  const asBoard = parts.length === 1 && query.get('view') !== 'list';
  const { data: all } = useAnswer<ListAnswer<unknown>>(asBoard ? 'list_tasks' : undefined, { limit: 1 });
  if (!asBoard) return <KindPage spec={taskSpec} />;
  const actions = (
    <>
      <ViewChoice />
      <LinkButton needs="create_task" text="New task" look="primary" icon="plus" to="/tasks/new" />
    </>
  );
  return (
    <PageBody title="Tasks" width="wide" actions={actions}>
      {all?.data.length === 0 ? <NoneYet spec={taskSpec} /> : <Board spec={taskSpec} />}
    </PageBody>
  );
}

const taskSpec = specOf('task', {
  fields: {
    title: { hint: 'What is to be done, like: Write the release notes.' },
    content: { label: 'Text' },
    projectId: {},
    goalId: {},
    assigneeAgentId: {},
    dueAt: { label: 'Due' },
    priority: {},
    status: {},
  },
  empty: 'Work for people and agents, with a text of its own.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge value={String(row.status)} />, width: '7.5rem' },
    { title: 'Priority', cell: (row: Row) => <Badge value={String(row.priority)} />, hidePriority: 2 },
    {
      title: 'Due',
      member: 'dueAt',
      cell: (row: Row) => <Time at={row.dueAt as string} />,
      alignEnd: true,
      hidePriority: 2,
    },
  ],
  headControls: ViewChoice,
  below: TaskText,
});

const VIEWS = [
  { value: 'board', label: 'Board' },
  { value: 'list', label: 'List' },
] as const;

function ViewChoice() {
  const { parts, query } = useLocation();
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
function TaskText({ row }: { readonly row: Row }) {
  const { data } = useAnswer<Row>('get_task_document', { id: row.id });
  const [edits, setEdits] = useState(false);
  if (!data) return null;
  const save = async (input: Row) => {
    await act('update_task_document', { ...input, id: row.id, expectedRevision: data.revision });
    setEdits(false);
  };
  if (edits) {
    const end = () => setEdits(false);
    return <Form tool="update_task_document" record={data} given={{ id: row.id }} run={save} onCancel={end} />;
  }
  return (
    <section class="block" aria-label="Text">
      <header class="section-head">
        <h2>Text</h2>
        <Button
          needs="update_task_document"
          text={data.content ? 'Edit text' : 'Write text'}
          onClick={() => setEdits(true)}
        />
      </header>
      {data.content ? <Prose text={String(data.content)} /> : <p class="quiet">Nothing is written yet.</p>}
    </section>
  );
}
