import { useMay } from '../app.ts';
import { LinkButton } from '../ui.ts';
import { Figures } from './usage/figures.tsx';

/** What was used, by whom and at what cost. */
export function Page() {
  const mayBudget = useMay('list_budgets');
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>Usage</h1>
        {mayBudget && (
          <span class="page-actions">
            <LinkButton text="Budgets" icon="gauge" to="/budgets" />
          </span>
        )}
      </header>
      <Figures />
    </div>
  );
}
