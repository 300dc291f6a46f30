import { Empty, ErrorBox, LinkButton, Skeleton, Table, useMay, usePages } from '../../commons.ts';
import { useRenewed } from '../../renewed.ts';
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
  const { rows, loading, error, more } = usePages<Budget>('list_budgets', { subject: { type, id }, limit: 100 });
  const mayMake = useMay('create_budget');
  useRenewed(true);
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0 && loading) return <Skeleton lines={3} />;
  const make = mayMake && (
    <LinkButton text="New budget" icon="plus" to={`/budgets/new?subject=${encodeURIComponent(id)}`} />
  );
  if (rows.length === 0) {
    return (
      <Empty title="No budget limits it" action={make}>
        A budget limits its calls, tokens or cost per day or month.
      </Empty>
    );
  }
  return (
    <div class="stack">
      <Table
        label="Budgets"
        columns={COLUMNS}
        rows={rows}
        keyOf={(budget) => budget.id}
        to={(budget) => `/budgets/${encodeURIComponent(budget.id)}`}
        onMore={more}
        loading={loading}
      />
      {make && <div class="actions">{make}</div>}
    </div>
  );
}

const COLUMNS = [
  { id: 'limit', title: 'Limit', cell: (budget: Budget) => <Limit budget={budget} /> },
  { id: 'used', title: 'Used', cell: (budget: Budget) => <Used budget={budget} /> },
];
