import { useRef } from 'preact/hooks';
import type { Task } from '../../../../resources/task.ts';
import { act, at, number, useLocation, useMay, useTool, wordOf } from '../../app.ts';
import { FilterBar, FilterRecord, FilterText } from '../../components/filters.tsx';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { LookedAt } from '../../kind/found-rows.tsx';
import { useRows } from '../../kind/rows.ts';
import type { KindSpec } from '../../kind/spec.ts';
import { Badge, LoadMore, Ref, Time, withToast } from '../../ui.ts';
import { InView } from './in-view.tsx';

const COLUMNS = ['todo', 'in_progress', 'blocked', 'done'] as const;
const FILTERS = {
  projectId: ['Project', 'project'],
  goalId: ['Goal', 'goal'],
  assigneeAgentId: ['Agent', 'agent'],
} as const;

/** Tasks by status. They are dragged, or moved by the choice on each card. */
export function Board({ spec }: { readonly spec: KindSpec }) {
  const { query } = useLocation();
  const given = Object.keys(FILTERS).flatMap((name) => (query.get(name) ? [[name, query.get(name)] as const] : []));
  return (
    <>
      <FilterBar find={<FilterText label="Filter tasks" />} set={given.length}>
        {Object.entries(FILTERS).map(([name, [label, kind]]) => (
          <FilterRecord key={name} name={name} label={label} kinds={{ [kind]: `${label}s` }} />
        ))}
      </FilterBar>
      <div class="board">
        {COLUMNS.map((status) => (
          <BoardColumn
            key={status}
            spec={{ ...spec, input: { ...Object.fromEntries(given), status } }}
            status={status}
          />
        ))}
      </div>
    </>
  );
}

function move(id: string, status: string, revision: number): Promise<void> {
  return withToast(() => act('update_task', { id, status, expectedRevision: revision }).then(() => undefined));
}

/** So many cards are drawn together. */
const DRAWN_AT_ONCE = 10;
const CARD_HEIGHT = 90;

type BoardColumnProps = Readonly<{ spec: KindSpec; status: string }>;

function BoardColumn({ spec, status }: BoardColumnProps) {
  const { query } = useLocation();
  const list = useRows<Task>(spec, useTool('list_tasks'), [], query, undefined);
  const { rows, shown, more, total, loading, lookedAt } = list;
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const [id, revision, from] = (event.dataTransfer?.getData('text/plain') ?? '').split(' ');
    if (id && from !== status) void move(id, status, Number(revision));
  };
  const near = useRef(new Set<number>()).current;
  list.look?.(Math.min(...near), Math.max(...near) + DRAWN_AT_ONCE);
  const starts = Array.from({ length: Math.ceil(shown.length / DRAWN_AT_ONCE) }, (_, index) => index * DRAWN_AT_ONCE);
  return (
    <section
      class="board-column"
      aria-label={wordOf(status)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={drop}
    >
      <h2 class="board-title">
        {wordOf(status)} <span class="count">{number(shown === rows ? (total ?? rows.length) : shown.length)}</span>
      </h2>
      {starts.map((start) => (
        <InView
          key={start}
          class="stack"
          height={DRAWN_AT_ONCE * CARD_HEIGHT}
          isFirst={start === 0}
          onChange={(isNear) => (isNear ? near.add(start) : near.delete(start))}
        >
          {() => shown.slice(start, start + DRAWN_AT_ONCE).map((task) => <TaskCard key={task.id} task={task} />)}
        </InView>
      ))}
      {more && <LoadMore onMore={more} loading={loading} count={rows.length} />}
      {lookedAt && <LookedAt {...lookedAt} words={`newest ${number(lookedAt.count)}`} />}
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
