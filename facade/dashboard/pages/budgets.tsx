import { act, kindOfId, wordOf } from '../app.ts';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { withToast } from '../ui.ts';
import { type Budget, kindOf, nameOf, STATES, SUBJECTS, stateOf } from './budgets/budget.ts';
import { Standing } from './budgets/standing.tsx';
import { SubjectControl } from './budgets/subject-control.tsx';
import { Limit, Subject, Used } from './budgets/used.tsx';

const budgetOf = (row: Row) => row as Budget; // as the list answers it

const choices = (...values: string[]) => values.map((value) => ({ value, label: wordOf(value) }));

export const Page = kindPage('budget', {
  name: (row) => nameOf(budgetOf(row)),
  empty: 'A budget limits the calls, tokens or cost of a key, capsule, app or agent per day or month.',
  first: { title: 'Limit', cell: (row) => <Limit budget={budgetOf(row)} named /> },
  columns: [
    { title: 'Owner', cell: Of, spare: 2 },
    { title: 'Used', cell: (row) => <Used budget={budgetOf(row)} />, width: '40%' },
  ],
  filters: [
    { name: 'of', label: 'Owner', options: SUBJECTS, chosenIn: (row) => budgetOf(row).subject.type },
    { name: 'state', label: 'State', options: STATES, chosenIn: (row) => stateOf(budgetOf(row)).value },
    {
      name: 'measure',
      label: 'Measure',
      options: choices('calls', 'tokens', 'cost'),
      chosenIn: (row) => budgetOf(row).measure,
    },
    { name: 'period', label: 'Period', options: choices('day', 'month'), chosenIn: (row) => budgetOf(row).period },
  ],
  without: ['subject', 'measure', 'period', 'limit', 'warnAt', 'enabled', 'currency', 'used', 'renewsAt', 'state'],
  above: Standing,
  controls: { subject: SubjectControl },
  start: (query) => ({ subject: startOf(query.get('subject') ?? '') }),
  menu: (row) => [
    {
      label: row.enabled ? 'Switch off' : 'Switch on',
      icon: row.enabled ? 'stop' : 'play',
      needs: 'update_budget',
      run: () => void switchOn(budgetOf(row), !row.enabled),
    },
  ],
  loss: (row) => `It no longer limits ${budgetOf(row).subject.name ?? 'anything'}, and what it counted is gone.`,
  isQuickToMake: true,
});

function Of(row: Row) {
  const budget = budgetOf(row);
  return (
    <span class="name-words">
      <Subject {...budget.subject} />
      <span class="name-more">{kindOf(budget)}</span>
    </span>
  );
}

function startOf(id: string) {
  const type = SUBJECTS.find(({ value }) => value === kindOfId(id))?.value;
  return type === undefined ? { type: 'agent', id: '' } : { type, id };
}

async function switchOn(budget: Budget, enabled: boolean): Promise<void> {
  await withToast(async () => {
    await act('update_budget', { id: budget.id, enabled, expectedRevision: budget.revision });
    return enabled ? 'The budget counts and refuses again.' : 'The budget neither counts nor refuses now.';
  });
}
