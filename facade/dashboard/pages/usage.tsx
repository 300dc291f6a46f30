import { LinkButton } from '../components/button.tsx';
import { useMay } from '../tools.ts';
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
            <LinkButton icon="gauge" to="/budgets">
              Budgets
            </LinkButton>
          </span>
        )}
      </header>
      <Figures />
    </div>
  );
}
