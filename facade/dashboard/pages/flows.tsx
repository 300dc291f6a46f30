import { act } from '../app.ts';
import { kindPage } from '../kind/kind-page.tsx';
import { timeColumn } from '../kind/list-pane.tsx';
import { type Row, titleOf } from '../kind/spec.ts';
import { Badge, withToast } from '../ui.ts';
import { Deliveries } from './flows/deliveries.tsx';
import { RunNow } from './flows/run-now.tsx';
import { Runs } from './flows/runs.tsx';
import { kindOf } from './flows/schemes.ts';
import { StepList, triggerWords } from './flows/step-list.tsx';
import { StepsControl } from './flows/steps-control.tsx';
import { TriggerControl } from './flows/trigger-control.tsx';
import { Webhook } from './flows/webhook.tsx';

export const Page = kindPage('flow', {
  subtitle: 'description',
  versions: 'flow',
  empty: 'A flow calls tools one after the other, by hand, by schedule, by webhook or by event.',
  columns: [
    { title: 'Starts', cell: (row: Row) => triggerWords(row.trigger), spare: 2, width: '18rem' },
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
    {
      label: row.enabled ? 'Switch off' : 'Switch on',
      icon: row.enabled ? 'stop' : 'play',
      run: () => void switchOn(row, !row.enabled),
    },
  ],
  tabs: (row) => [
    { id: 'runs', label: 'Runs', content: () => <Runs flowId={String(row.id)} /> },
    ...(kindOf(row.trigger) === 'webhook' ? [deliveriesOf(row)] : []),
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

async function switchOn(row: Row, enabled: boolean): Promise<void> {
  const name = titleOf({ title: 'name' }, row);
  await withToast(async () => {
    await act('update_flow', { id: row.id, enabled, expectedRevision: row.revision });
    return enabled ? `${name} is on.` : `${name} is off: nothing starts it.`;
  });
}
