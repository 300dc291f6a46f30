import { act, go } from '../app.ts';
import { FormButton } from '../components/form/form-button.tsx';
import { viewAsTab } from '../components/view-as.tsx';
import { changeItem, kindPage, type Row, timeColumn } from '../kind/kind-page.tsx';
import { Badge } from '../ui.ts';
import { Deliveries } from './flows/deliveries.tsx';
import { pathOfRuns, Runs } from './flows/runs.tsx';
import { kindOf } from './flows/signature.tsx';
import { StepList, StepsControl, triggerWords } from './flows/steps.tsx';
import { TriggerControl, Webhook } from './flows/webhook.tsx';

export const Page = kindPage('flow', {
  subtitle: 'description',
  versions: 'flow',
  empty: 'A flow calls tools one after the other, by hand, by schedule, by webhook or by event.',
  columns: [
    { title: 'Starts', cell: (row: Row) => triggerWords(row.trigger), hidePriority: 2, width: '18rem' },
    {
      title: 'Enabled',
      cell: ({ enabled }: Row) => <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? 'On' : 'Off'}</Badge>,
      width: '6rem',
    },
    timeColumn('updatedAt', 'Changed'),
  ],
  blocks: ['prompt'],
  without: ['steps', 'trigger', 'enabled', 'runAs'],
  controls: { steps: StepsControl, trigger: TriggerControl },
  actions: RunNow,
  above: About,
  menu: (row) => [
    row.enabled
      ? changeItem('flow', row, ['Switch off', 'stop'], { enabled: false }, `${row.name} is off: nothing starts it.`)
      : changeItem('flow', row, ['Switch on', 'play'], { enabled: true }, `${row.name} is on.`),
  ],
  tabs: (row) => [
    { id: 'runs', label: 'Runs', content: () => <Runs flowId={String(row.id)} /> },
    ...(kindOf(row.trigger) === 'webhook' ? [deliveriesOf(row)] : []),
    viewAsTab('flowId', row.id),
  ],
  loss: () => 'It starts no more. Its runs and versions stay, so it can be restored.',
});

function About({ row }: { readonly row: Row }) {
  return (
    <>
      <StepList row={row} />
      <Webhook row={row} />
    </>
  );
}

function deliveriesOf(row: Row) {
  const content = () => <Deliveries flowId={String(row.id)} />;
  return { id: 'deliveries', label: 'Deliveries', needs: 'list_flow_deliveries', content };
}

function RunNow({ row: { id, name } }: { readonly row: Row }) {
  const start = async (input: object) => {
    const run = await act<{ id: string }>('trigger_flow', { ...input, id });
    go(`${pathOfRuns(String(id))}&run=${encodeURIComponent(run.id)}`);
  };
  return (
    <FormButton
      text="Run now"
      icon="play"
      look="primary"
      title={`Run ${name}`}
      tool="trigger_flow"
      given={{ id }}
      hidden={['wait']}
      action="Run now"
      run={start}
    />
  );
}
