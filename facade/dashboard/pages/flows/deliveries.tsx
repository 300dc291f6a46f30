import type { FlowDelivery } from '../../../../resources/flow-delivery.ts';
import { exactTime, usePagedList } from '../../app.ts';
import { Badge, type Column, Empty, Link, PagedTable, Time, type Tone } from '../../ui.ts';
import { usePolling } from '../../use-polling.ts';
import { pathOfRun } from './run-words.ts';
import { schemeNamed } from './signature.tsx';

export function Deliveries({ flowId }: { readonly flowId: string }) {
  const pages = usePagedList<FlowDelivery>('list_flow_deliveries', { id: flowId, limit: 50 });
  usePolling(true);
  return (
    <PagedTable
      label="Deliveries"
      columns={columnsFor(flowId)}
      pages={pages}
      none={<Empty title="Nothing was sent yet">The overview shows the address to give to the sender.</Empty>}
    />
  );
}

/** `why`: where the delivery itself gives no reason. */
type Outcome = Readonly<{ words: string; tone: Tone; why?: string }>;

const OUTCOMES: Readonly<Record<FlowDelivery['outcome'], Outcome>> = {
  run: { words: 'Run started', tone: 'good' },
  ping: { words: 'Ping answered', tone: 'plain' },
  challenge: { words: 'Challenge answered', tone: 'plain' },
  refused: { words: 'Refused', tone: 'warn' },
  late: { words: 'Too late', tone: 'alarm', why: 'The time it was signed is more than 5 minutes off.' },
  bad_signature: {
    words: 'Bad signature',
    tone: 'alarm',
    why: 'The sender has another secret, or somebody else sent it.',
  },
};

function columnsFor(flowId: string): readonly Column<FlowDelivery>[] {
  return [
    { title: 'Received', cell: ({ at }) => <Time at={at} /> },
    { title: 'What', cell: ({ event, scheme }) => event ?? schemeNamed(scheme).label, hidePriority: 1 },
    {
      title: 'Outcome',
      cell: ({ outcome }) => <Badge tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].words}</Badge>,
    },
    {
      title: 'Run',
      cell: ({ runId, reason, outcome }) =>
        runId === undefined ? (
          <span class="delivery-reason">{reason ?? OUTCOMES[outcome].why}</span>
        ) : (
          <Link to={pathOfRun({ flowId, id: runId })}>Open run</Link>
        ),
    },
    {
      title: 'Times',
      cell: ({ count, lastAt }) => <span title={lastAt && `Last ${exactTime(lastAt)}`}>{count}</span>,
      alignEnd: true,
      hidePriority: 2,
      width: '5rem',
    },
  ];
}
