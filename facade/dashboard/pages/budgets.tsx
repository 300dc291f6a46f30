import type { Budget } from '../../../resources/budget.ts';
import { counted, kindOfId, percent, wordOf } from '../app.ts';
import { Field } from '../components/form/field.tsx';
import { Picker } from '../components/form/picker.tsx';
import { issueAt, type Members, type PartProps } from '../components/form/state.ts';
import { changeItem, kindPage, type Row } from '../kind/kind-page.tsx';
import { Facts, NamedRef, Segments, Time } from '../ui.ts';
import { usePolling } from '../use-polling.ts';
import { Limit, Renewal } from './budgets/budget.tsx';
import { LimitControl, WarnControl } from './budgets/fields.tsx';
import { amount, kindOf, limitWords, STATES, SUBJECTS, stateOf, Used } from './budgets/words.tsx';

const budgetOf = (row: Row) => row as Budget; // as the list answers it

const choices = (...values: string[]) => values.map((value) => ({ value, label: wordOf(value) }));

export const Page = kindPage('budget', {
  name: (row) => `${limitWords(budgetOf(row))} for ${budgetOf(row).subject.name ?? budgetOf(row).subject.id}`,
  empty: 'A budget limits the calls, tokens or cost of a person, agent, key, capsule, app or of all per day or month.',
  first: { title: 'Limit', cell: (row) => <Limit budget={budgetOf(row)} named /> },
  columns: [
    { title: 'Owner', cell: Owner, hidePriority: 2 },
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
  fields: {
    subject: {},
    measure: {
      hint: 'Calls of tools, tokens that models read and wrote, or what these cost by the prices of the settings.',
    },
    period: { hint: 'In the time zone of the workspace.' },
    limit: {},
    warnAt: { hint: 'Of the limit, like 80: from then on it is said that the budget is nearly used up.' },
    enabled: { hint: 'Off: it is not enforced and does not count.' },
  },
  useInherited: () => ({ warnAt: '80' }),
  controls: { subject: SubjectControl, limit: LimitControl, warnAt: WarnControl },
  start: (query) => ({ subject: startOf(query.get('subject') ?? ''), measure: 'tokens', period: 'month' }),
  menu: (row) => [
    row.enabled
      ? changeItem('budget', row, ['Switch off', 'stop'], { enabled: false }, 'The budget is not enforced now.')
      : changeItem('budget', row, ['Switch on', 'play'], { enabled: true }, 'The budget counts and refuses again.'),
  ],
  loss: (row) => `It no longer limits ${budgetOf(row).subject.name ?? 'anything'}, and what it counted is gone.`,
  isQuickToMake: true,
});

function Owner(row: Row) {
  const budget = budgetOf(row);
  return (
    <span class="name-words">
      <NamedRef id={budget.subject.id} name={budget.subject.name} />
      <span class="name-more">{kindOf(budget)}</span>
    </span>
  );
}

function startOf(id: string) {
  const type = SUBJECTS.find(({ kind }) => kind !== undefined && kind === kindOfId(id))?.value;
  return type === undefined ? { type: 'agent', id: '' } : { type, id };
}

function Standing({ row }: { readonly row: Row }) {
  const budget = budgetOf(row);
  usePolling(true);
  const { subject, warnAt, renewsAt, measure, limit } = budget;
  const warned = measure === 'cost' ? warnAt * limit : Math.ceil(warnAt * limit);
  const renews = (
    <>
      <Renewal at={renewsAt} />{' '}
      <span class="faint">
        <Time at={renewsAt} />
      </span>
    </>
  );
  const warns = (
    <>
      {percent(warnAt, 0)} <span class="faint">of it, {inWords(budget, warned)}</span>
    </>
  );
  return (
    <section class="overview standing" aria-label="Use">
      <Used budget={budget} />
      <BudgetNote budget={budget} />
      <Facts
        of={{
          [kindOf(budget)]: <NamedRef id={subject.id} name={subject.name} />,
          Limit: limitWords(budget),
          Renews: renews,
          'Warns at': warns,
        }}
      />
    </section>
  );
}

function BudgetNote({ budget }: { readonly budget: Budget }) {
  const { value } = stateOf(budget);
  const { renewsAt, measure, limit, used } = budget;
  const refused = measure === 'calls' ? 'Calls' : 'Answers of models';
  if (value === 'off') return <p class="note">It is switched off and not enforced.</p>;
  if (value === 'reached') {
    return (
      <p class="note warn">
        {refused} are refused until <Renewal at={renewsAt} />, unless the limit is raised.
      </p>
    );
  }
  return value === 'warned' ? <p class="note">{inWords(budget, limit - used)} left until it renews.</p> : null;
}

function inWords(budget: Budget, value: number): string {
  return budget.measure === 'cost' ? amount(budget, value) : counted(value, budget.measure.slice(0, -1));
}

/** Whose use is limited: a record of one of some kinds, picked by its name, or that of all. */
function SubjectControl(props: PartProps) {
  const { type = 'agent', id = '' } = (props.value ?? {}) as Members; // an object, as the schema has it
  const { kind, label } = SUBJECTS.find(({ value }) => value === type) ?? {};
  const issue = issueAt(props) ?? issueAt({ ...props, path: `${props.path}.id` });
  const give = (type: string, id = '') => props.onChange(type === 'workspace' ? { type } : { type, id });
  return (
    <fieldset class="frame">
      <legend>Applies to</legend>
      <Segments label="Kind" value={String(type)} options={SUBJECTS} onChange={(value) => give(value)} />
      {kind === undefined ? (
        <p class="quiet">Counts all usage in the workspace. Signed-in people with full access are never blocked.</p>
      ) : (
        <Field
          label={label ?? ''}
          hint="What agents, flows and apps do for it counts too."
          needed={props.needed}
          issue={issue}
        >
          {(tied) => (
            <Picker key={kind} kind={kind} value={String(id)} onChange={(id) => give(String(type), id)} tied={tied} />
          )}
        </Field>
      )}
    </fieldset>
  );
}
