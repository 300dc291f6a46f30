import { exactTime, usePagedList } from '../../app.ts';
import { Badge, Empty, Link, PagedTable, Time, type Tone } from '../../ui.ts';
import { useRenewed } from '../../use-renewed.ts';
import { pathOfRuns } from './runs.tsx';
import { schemeNamed } from './schemes.ts';

/** As `list_flow_deliveries` answers it. */
interface Delivery {
  readonly id: string;
  readonly at: string;
  readonly scheme: string;
  readonly event?: string;
  readonly outcome: string;
  readonly reason?: string;
  readonly runId?: string;
  readonly count: number;
  readonly lastAt?: string;
}

/** What was sent to the webhook of a flow, and what became of it. */
export function Deliveries({ flowId }: { readonly flowId: string }) {
  const pages = usePagedList<Delivery>('list_flow_deliveries', { id: flowId, limit: 50 });
  useRenewed(true);
  return (
    <PagedTable
      label="Deliveries"
      columns={columnsFor(flowId)}
      pages={pages}
      none={<Empty title="Nothing was sent yet">The overview shows the address to give to the sender.</Empty>}
    />
  );
}

interface Outcome {
  readonly words: string;
  readonly tone: Tone;
  /** Where the delivery itself gives no reason. */
  readonly why?: string;
}

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  run: { words: 'Run begun', tone: 'good' },
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

function outcomeOf({ outcome }: Delivery): Outcome {
  return OUTCOMES[outcome] ?? { words: outcome, tone: 'plain' };
}

function columnsFor(flowId: string) {
  return [
    { title: 'Received', cell: ({ at }: Delivery) => <Time at={at} /> },
    { title: 'What', cell: ({ event, scheme }: Delivery) => event ?? schemeNamed(scheme).label, spare: 1 as const },
    {
      title: 'Outcome',
      cell: (delivery: Delivery) => {
        const { words, tone } = outcomeOf(delivery);
        return <Badge tone={tone}>{words}</Badge>;
      },
    },
    {
      title: 'Run',
      cell: (delivery: Delivery) =>
        delivery.runId === undefined ? (
          <span class="delivery-reason">{delivery.reason ?? outcomeOf(delivery).why}</span>
        ) : (
          <Link to={`${pathOfRuns(flowId)}&run=${encodeURIComponent(delivery.runId)}`}>Open run</Link>
        ),
    },
    {
      title: 'Times',
      cell: ({ count, lastAt }: Delivery) => <span title={lastAt && `Last ${exactTime(lastAt)}`}>{count}</span>,
      end: true,
      spare: 2 as const,
      width: '5rem',
    },
  ];
}
