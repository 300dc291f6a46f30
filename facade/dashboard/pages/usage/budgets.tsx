import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { ErrorBox } from '../../components/error-box.tsx';
import { Form } from '../../components/form/form.tsx';
import { Badge, Empty, Link, Mono, Time } from '../../components/small.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { Skeleton } from '../../components/waiting.tsx';
import { number, percent, wordOf } from '../../format.ts';
import { usePages } from '../../pages-of.ts';
import { pathOf } from '../../refs.ts';
import { act } from '../../store.ts';
import { useMay } from '../../tools.ts';
import { cost } from './numbers.ts';
import { SubjectControl } from './subject-control.tsx';

interface Budget extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly subject: { readonly type: string; readonly id: string; readonly name?: string };
  readonly measure: string;
  readonly period: string;
  readonly limit: number;
  readonly used: number;
  readonly enabled: boolean;
  readonly state: string;
  readonly renewsAt: string;
  readonly currency?: string;
  readonly revision: number;
}

type Doing = { readonly what: 'edit' | 'delete'; readonly budget: Budget };

/** The limits to calls, tokens and cost, with what is used of each. */
export function Budgets() {
  const { rows, loading, error, more } = usePages<Budget>('list_budgets', { limit: 100 });
  const [makes, setMakes] = useState(false);
  const [doing, setDoing] = useState<Doing>();
  const mayMake = useMay('create_budget');
  const end = () => setDoing(undefined);
  return (
    <div class="overview">
      <div class="section-head">
        <p class="quiet">What exceeds a budget is refused until it renews.</p>
        {mayMake && (
          <Button icon="plus" onClick={() => setMakes(true)}>
            New budget
          </Button>
        )}
      </div>
      {error && <ErrorBox error={error} />}
      {rows.length > 0 ? (
        <Table
          label="Budgets"
          columns={[...COLUMNS, actionsOf(setDoing)]}
          rows={rows}
          keyOf={({ id }) => id}
          onMore={more}
          loading={loading}
        />
      ) : (
        !error && (loading ? <Skeleton lines={4} /> : <Empty title="No budget limits anything yet" />)
      )}
      {makes && <NewBudget onClose={() => setMakes(false)} />}
      {doing?.what === 'edit' && <EditBudget budget={doing.budget} onClose={end} />}
      {doing?.what === 'delete' && (
        <ConfirmDialog
          title="Delete the budget?"
          action="Delete budget"
          run={() => act('delete_budget', { id: doing.budget.id })}
          onClose={end}
        >
          <p>It no longer limits the {nounOf(doing.budget)}.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

function nounOf({ subject }: Budget): string {
  return subject.type === 'key' ? 'API key' : subject.type;
}

function amount({ measure, currency = '' }: Budget, value: number): string {
  return measure === 'cost' ? cost(value, currency) : number(value);
}

const COLUMNS = [
  {
    id: 'subject',
    title: 'Of',
    cell: (budget: Budget) => (
      <span>
        {wordOf(nounOf(budget))} <Subject {...budget.subject} />
      </span>
    ),
  },
  {
    id: 'limit',
    title: 'Limit',
    cell: (budget: Budget) =>
      `${amount(budget, budget.limit)} ${budget.measure === 'cost' ? '' : budget.measure} a ${budget.period}`,
    spare: 2 as const,
  },
  {
    id: 'used',
    title: 'Used',
    cell: (budget: Budget) => (
      <span class="share">
        <meter class="share-bar" min={0} max={1} value={Math.min(1, budget.used / budget.limit)} aria-hidden="true" />
        <span class="number" title={amount(budget, budget.used)}>
          {percent(budget.used / budget.limit, 0)}
        </span>
      </span>
    ),
  },
  { id: 'state', title: 'State', cell: (budget: Budget) => <State budget={budget} />, spare: 1 as const },
  { id: 'renews', title: 'Renews', cell: ({ renewsAt }: Budget) => <Time at={renewsAt} />, spare: 3 as const },
];

function State({ budget: { enabled, state } }: { readonly budget: Budget }) {
  if (!enabled) return <Badge tone="plain">Off</Badge>;
  if (state === 'reached') return <Badge tone="alarm">Used up</Badge>;
  return state === 'warned' ? <Badge tone="warn">Nearly used up</Badge> : <Badge value="ok" />;
}

function Subject({ id, name }: Budget['subject']) {
  const path = pathOf(id);
  const shown = name ?? <Mono>{id}</Mono>;
  return path === undefined ? <span>{shown}</span> : <Link to={path}>{shown}</Link>;
}

function actionsOf(onDo: (doing: Doing) => void) {
  return {
    id: 'actions',
    title: 'Change',
    end: true,
    cell: (budget: Budget) => <Actions budget={budget} onDo={onDo} />,
  };
}

function Actions({ budget, onDo }: { readonly budget: Budget; readonly onDo: (doing: Doing) => void }) {
  const mayEdit = useMay('update_budget');
  const mayDelete = useMay('delete_budget');
  return (
    <span class="page-actions">
      {mayEdit && <Button look="quiet" icon="edit" label="Edit" onClick={() => onDo({ what: 'edit', budget })} />}
      {mayDelete && (
        <Button look="quiet" icon="trash" label="Delete" onClick={() => onDo({ what: 'delete', budget })} />
      )}
    </span>
  );
}

function NewBudget({ onClose }: { readonly onClose: () => void }) {
  const make = async (input: object) => {
    await act('create_budget', input);
    toast('The budget is made.');
    onClose();
  };
  return (
    <Dialog title="New budget" size="m" onClose={onClose}>
      <Form
        tool="create_budget"
        action="Make budget"
        own={{ subject: SubjectControl }}
        start={{ subject: { type: 'agent', id: '' } }}
        run={make}
        onCancel={onClose}
      />
    </Dialog>
  );
}

function EditBudget({ budget, onClose }: { readonly budget: Budget; readonly onClose: () => void }) {
  const save = async (input: object) => {
    await act('update_budget', { ...input, id: budget.id, expectedRevision: budget.revision });
    toast('The budget is saved.');
    onClose();
  };
  return (
    <Dialog title="Edit budget" size="m" onClose={onClose}>
      <Form tool="update_budget" record={budget} given={{ id: budget.id }} run={save} onCancel={onClose} />
    </Dialog>
  );
}
