import { useState } from 'preact/hooks';
import type { Task } from '../../../resources/task.ts';
import { act, at, type ListAnswer, setQuery, useAnswer, useLocation, useMay, usePagedList, wordOf } from '../app.ts';
import { Form } from '../components/form/form.tsx';
import { optionsOf, Select } from '../components/form/select.tsx';
import { Prose } from '../components/prose.tsx';
import { KindPage, NoneYet, type Row, specOf } from '../kind/kind-page.tsx';
import { Badge, Button, LinkButton, PageBody, Ref, Segments, Time, withToast } from '../ui.ts';

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
      {all?.data.length === 0 ? <NoneYet spec={taskSpec} /> : <Board />}
    </PageBody>
  );
}

const taskSpec = specOf('task', {
  empty: 'Work for people and agents, with a text of its own.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge value={String(row.status)} />, width: '7.5rem' },
    { title: 'Priority', cell: (row: Row) => <Badge value={String(row.priority)} />, hidePriority: 2 },
    { title: 'Due', cell: (row: Row) => <Time at={row.dueAt as string} />, alignEnd: true, hidePriority: 2 },
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

const COLUMNS = ['todo', 'in_progress', 'blocked', 'done'] as const;

/** Tasks by status. They are dragged, or moved by the choice on each card. */
function Board() {
  return (
    <div class="board">
      {COLUMNS.map((status) => (
        <BoardColumn key={status} status={status} />
      ))}
    </div>
  );
}

function move(id: string, status: string, revision: number): Promise<void> {
  return withToast(() => act('update_task', { id, status, expectedRevision: revision }).then(() => undefined));
}

function BoardColumn({ status }: { readonly status: string }) {
  const { rows, more, total } = usePagedList<Task>('list_tasks', { status, limit: 50, includeTotal: true });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const [id, revision, from] = (event.dataTransfer?.getData('text/plain') ?? '').split(' ');
    if (id && from !== status) void move(id, status, Number(revision));
  };
  return (
    <section
      class="board-column"
      aria-label={wordOf(status)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={drop}
    >
      <h2 class="board-title">
        {wordOf(status)} <span class="count">{total ?? rows.length}</span>
      </h2>
      {rows.map((task) => (
        <TaskCard key={task.id} task={task} />
      ))}
      {more && <Button text="More" onClick={more} />}
    </section>
  );
}

function TaskCard({ task }: { readonly task: Task }) {
  const { id, title, status, priority, dueAt, assigneeAgentId, revision } = task;
  const may = useMay('update_task');
  return (
    <article
      class="board-card"
      draggable={may}
      onDragStart={(event) => event.dataTransfer?.setData('text/plain', `${id} ${revision} ${status}`)}
    >
      <a class="board-link" href={at(`/tasks/${encodeURIComponent(id)}`)}>
        {title}
      </a>
      <p class="board-more">
        {priority !== 'normal' && <Badge value={priority} />}
        {assigneeAgentId !== undefined && <Ref id={assigneeAgentId} />}
        {dueAt !== undefined && status !== 'done' && (
          <span class="quiet">
            due <Time at={dueAt} />
          </span>
        )}
      </p>
      {may && (
        <Select
          class="board-move"
          aria-label={`Status of ${title}`}
          value={status}
          options={optionsOf(COLUMNS)}
          onPick={(picked) => void move(id, picked, revision)}
        />
      )}
    </article>
  );
}
