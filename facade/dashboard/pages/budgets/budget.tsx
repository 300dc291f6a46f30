import type { Budget } from '../../../../resources/budget.ts';
import { clockTime, exactTime, pathOf, usePagedList } from '../../app.ts';
import { type Column, Empty, LinkButton, PagedTable } from '../../ui.ts';
import { usePolling } from '../../use-polling.ts';
import { limitWords, Used } from './words.tsx';

/** When the next period begins, in the reader's time zone. */
export function Renewal({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {clockTime(at)}
    </time>
  );
}

/** What a budget limits, and when it renews. `named`: also whose it is, where there is no room for a column that says so. */
export function Limit({ budget, named = false }: { readonly budget: Budget; readonly named?: boolean }) {
  const { name, id } = budget.subject;
  return (
    <span class="name-words">
      <span class="name-title">{limitWords(budget)}</span>
      {named && <span class="name-more instead-2">{name ?? id}</span>}
      <span class="name-more">
        renews <Renewal at={budget.renewsAt} />
      </span>
    </span>
  );
}

type SubjectProps = Readonly<{ type: Budget['subject']['type']; id: string }>;

export function budgetsTab(type: SubjectProps['type'], { id }: { readonly id?: unknown }) {
  const content = () => <BudgetsOf type={type} id={String(id)} />;
  // Whoever may not see budgets is shown their own, on the page of budgets.
  return { id: 'budgets', label: 'Budgets', needs: 'create_budget', content };
}

export function BudgetsOf({ type, id }: SubjectProps) {
  const pages = usePagedList<Budget>('list_budgets', { subject: { type, id }, limit: 100 });
  usePolling(true);
  const to = `/budgets/new?subject=${encodeURIComponent(id)}`;
  const make = <LinkButton needs="create_budget" text="New budget" icon="plus" to={to} />;
  const none = (
    <Empty title="No budget limits it" action={make}>
      A budget limits its calls, tokens or cost per day or month.
    </Empty>
  );
  return (
    <div class="stack">
      <PagedTable
        label="Budgets"
        columns={COLUMNS}
        pages={pages}
        to={({ id }) => pathOf(id) ?? ''}
        lines={3}
        none={none}
      />
      {pages.rows.length > 0 && <div class="actions">{make}</div>}
    </div>
  );
}

const COLUMNS: readonly Column<Budget>[] = [
  { title: 'Limit', cell: (budget) => <Limit budget={budget} /> },
  { title: 'Used', cell: (budget) => <Used budget={budget} /> },
];
