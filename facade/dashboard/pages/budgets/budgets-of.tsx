import { useMay, usePagedList } from '../../app.ts';
import { type Column, Empty, LinkButton, PagedTable } from '../../ui.ts';
import { useRenewed } from '../../use-renewed.ts';
import type { Budget } from './budget.ts';
import { Limit, Used } from './used.tsx';

type SubjectProps = Readonly<{ type: 'agent' | 'key' | 'capsule' | 'app'; id: string }>;

/** A tab of a record with the budgets that limit it. */
export function budgetsTab(type: SubjectProps['type'], { id }: { readonly id?: unknown }) {
  const content = () => <BudgetsOf type={type} id={String(id)} />;
  return { id: 'budgets', label: 'Budgets', needs: 'list_budgets', content };
}

/** The budgets of one record, and the way to another one. */
export function BudgetsOf({ type, id }: SubjectProps) {
  const pages = usePagedList<Budget>('list_budgets', { subject: { type, id }, limit: 100 });
  const mayMake = useMay('create_budget');
  useRenewed(true);
  const make = mayMake && (
    <LinkButton text="New budget" icon="plus" to={`/budgets/new?subject=${encodeURIComponent(id)}`} />
  );
  const none = (
    <Empty title="No budget limits it" action={make}>
      A budget limits its calls, tokens or cost per day or month.
    </Empty>
  );
  const to = (budget: Budget) => `/budgets/${encodeURIComponent(budget.id)}`;
  return (
    <div class="stack">
      <PagedTable label="Budgets" columns={COLUMNS} pages={pages} to={to} lines={3} none={none} />
      {make && pages.rows.length > 0 && <div class="actions">{make}</div>}
    </div>
  );
}

const COLUMNS: readonly Column<Budget>[] = [
  { title: 'Limit', cell: (budget) => <Limit budget={budget} /> },
  { title: 'Used', cell: (budget) => <Used budget={budget} /> },
];
