import type { Budget } from '../../../../resources/budget.ts';
import { clockTime, exactTime, number, pathOf, usePagedList } from '../../app.ts';
import { Badge, type Column, Empty, LinkButton, PagedTable, type Tone } from '../../ui.ts';
import { usePolling } from '../../use-polling.ts';
import { cost } from '../usage/numbers.ts';

/** `kind` is a name of `kinds.ts`. The workspace has none. */
export const SUBJECTS: readonly (Choice & { readonly kind?: string })[] = [
  { value: 'agent', label: 'Agent', kind: 'agent' },
  { value: 'person', label: 'Person', kind: 'admin-user' },
  { value: 'key', label: 'API key', kind: 'key' },
  { value: 'capsule', label: 'Capsule', kind: 'capsule' },
  { value: 'app', label: 'App', kind: 'app' },
  { value: 'workspace', label: 'Workspace' },
];

type Choice = Readonly<{ value: Budget['subject']['type']; label: string }>;

export function kindOf({ subject }: Budget): string {
  return SUBJECTS.find(({ value }) => value === subject.type)?.label ?? subject.type;
}

/** `2,000`, or `$9.90` of a cost. */
export function amount({ measure, currency = '' }: Budget, value: number): string {
  return measure === 'cost' ? cost(value, currency) : number(value);
}

/** `40 calls a day`, `$20.00 a month`. */
export function limitWords(budget: Budget): string {
  const { measure, limit, period } = budget;
  const counted = measure === 'cost' ? '' : ` ${limit === 1 ? measure.slice(0, -1) : measure}`;
  return `${amount(budget, limit)}${counted} a ${period}`;
}

type State = Readonly<{ value: string; label: string; tone: Tone }>;

const OFF: State = { value: 'off', label: 'Off', tone: 'plain' };
const OK: State = { value: 'ok', label: 'OK', tone: 'good' };
export const STATES: readonly State[] = [
  { value: 'reached', label: 'Used up', tone: 'alarm' },
  { value: 'warned', label: 'Nearly used up', tone: 'warn' },
  OK,
  OFF,
];

export function stateOf({ enabled, state }: Budget): State {
  return enabled ? (STATES.find(({ value }) => value === state) ?? OK) : OFF;
}

export function Used({ budget }: { readonly budget: Budget }) {
  const { used, limit } = budget;
  const { value, label, tone } = stateOf(budget);
  return (
    <span class="used">
      <meter class={`share-bar ${value}`} min={0} max={1} value={Math.min(1, used / limit)} aria-hidden="true" />
      <span class="used-words">
        <span class="number">
          {amount(budget, used)} of {amount(budget, limit)}
        </span>
        {value !== 'ok' && <Badge tone={tone}>{label}</Badge>}
      </span>
    </span>
  );
}

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
