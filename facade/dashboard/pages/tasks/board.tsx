import { act, at, useMay, usePagedList, wordOf } from '../../app.ts';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { Badge, Ref, Time, withToast } from '../../ui.ts';

const COLUMNS = ['todo', 'in_progress', 'blocked', 'done'] as const;

interface Task {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly priority: string;
  readonly dueAt?: string;
  readonly assigneeAgentId?: string;
  readonly revision: number;
}

/** Tasks by status. They are dragged, or moved by the choice on each card. */
export function Board() {
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
      {more && (
        <button type="button" class="button" onClick={more}>
          More
        </button>
      )}
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
