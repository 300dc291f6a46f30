import { LinkButton } from '../components/button.tsx';
import { KindPage } from '../kind/kind-page.tsx';
import { usePlace } from '../router.ts';
import { useMay } from '../tools.ts';
import { Board } from './tasks/board.tsx';
import { taskSpec } from './tasks/spec.tsx';
import { ViewChoice } from './tasks/view-choice.tsx';

/** Tasks as a board, or as a list with one beside it. */
export function Page() {
  const { query, parts } = usePlace();
  const may = useMay('create_task');
  if (parts.length > 1 || query.get('view') === 'list') return <KindPage spec={taskSpec} />;
  return (
    <div class="page-body wide">
      <header class="page-head">
        <h1>Tasks</h1>
        <span class="page-actions">
          <ViewChoice />
          {may && (
            <LinkButton look="primary" icon="plus" to="/tasks/new">
              New task
            </LinkButton>
          )}
        </span>
      </header>
      <Board />
    </div>
  );
}
