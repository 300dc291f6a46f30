import { type ListAnswer, useAnswer, useMay, usePlace } from '../app.ts';
import { KindPage } from '../kind/kind-page.tsx';
import { NoneYet } from '../kind/list-pane.tsx';
import { LinkButton } from '../ui.ts';
import { Board } from './tasks/board.tsx';
import { taskSpec, ViewChoice } from './tasks/spec.tsx';

/** Tasks as a board, or as a list with one beside it. */
export function Page() {
  const { query, parts } = usePlace();
  const may = useMay('create_task');
  const asBoard = parts.length === 1 && query.get('view') !== 'list';
  const { data: all } = useAnswer<ListAnswer<unknown>>(asBoard ? 'list_tasks' : undefined, { limit: 1 });
  if (!asBoard) return <KindPage spec={taskSpec} />;
  return (
    <div class="page-body wide">
      <header class="page-head">
        <h1>Tasks</h1>
        <span class="page-actions">
          <ViewChoice />
          {may && <LinkButton text="New task" look="primary" icon="plus" to="/tasks/new" />}
        </span>
      </header>
      {all?.data.length === 0 ? <NoneYet spec={taskSpec} /> : <Board />}
    </div>
  );
}
