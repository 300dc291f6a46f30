import type { FlowRun } from '../../../resources/flow-run.ts';
import { act, go } from '../app.ts';
import { FormButton } from '../components/form/form-button.tsx';
import { viewAsTab } from '../components/view-as.tsx';
import { changeItem, kindPage, type Row, timeColumn } from '../kind/kind-page.tsx';
import { Badge } from '../ui.ts';
import { FlowCanvas } from './flows/canvas/flow-canvas.tsx';
import { FlowEditor } from './flows/canvas/flow-editor.tsx';
import { triggerWords } from './flows/canvas/words.ts';
import { Deliveries } from './flows/deliveries.tsx';
import { pathOfRun } from './flows/run-words.ts';
import { Runs } from './flows/runs.tsx';
import { kindOf } from './flows/signature.tsx';
import { Webhook } from './flows/webhook.tsx';

export const Page = kindPage('flow', {
  subtitle: 'description',
  versions: 'flow',
  makes: {
    title: 'New flow',
    action: 'Create flow',
    intro: 'Choose what starts it, then add what it does, one step after the other. Its runs have your rights.',
  },
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
  without: ['steps', 'trigger', 'enabled', 'runAs', 'agentId'],
  controls: { trigger: FlowEditor, steps: OnCanvas, agentId: OnCanvas, prompt: OnCanvas },
  advanced: ['enabled', 'overlap'],
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

/** What the editor of the flow holds stands in no field of its own. */
function OnCanvas() {
  return null;
}

function About({ row }: { readonly row: Row }) {
  return (
    <>
      <FlowCanvas row={row} />
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
    const run = await act<FlowRun>('trigger_flow', { ...input, id });
    go(pathOfRun(run));
  };
  return (
    <FormButton
      text="Run now"
      icon="play"
      look="primary"
      title={`Run ${name}`}
      tool="trigger_flow"
      given={{ id }}
      words={{ input: { label: 'Sample input (JSON)', hint: 'What the steps see as input.' } }}
      hidden={['wait']}
      action="Run now"
      run={start}
    />
  );
}
