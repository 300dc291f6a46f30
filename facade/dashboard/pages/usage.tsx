import { Tabs } from '../components/tabs.tsx';
import { useMay } from '../tools.ts';
import { Budgets } from './usage/budgets.tsx';
import { Figures } from './usage/figures.tsx';

/** What was used, by whom and at what cost, and the limits to it. */
export function Page() {
  const mayBudget = useMay('list_budgets');
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>Usage</h1>
      </header>
      <Tabs
        label="Usage"
        tabs={[
          { id: 'figures', label: 'Figures', content: () => <Figures /> },
          ...(mayBudget ? [{ id: 'budgets', label: 'Budgets', content: () => <Budgets /> }] : []),
        ]}
      />
    </div>
  );
}
