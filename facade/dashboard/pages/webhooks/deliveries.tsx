import { useEffect, useState } from 'preact/hooks';
import {
  act,
  Badge,
  Button,
  Empty,
  ErrorBox,
  invalidate,
  Ref,
  Segments,
  Skeleton,
  Table,
  Time,
  toast,
  useMay,
  usePages,
} from '../../commons.ts';

interface Delivery {
  readonly id: string;
  readonly event: { readonly type: string; readonly id: string; readonly revision?: number; readonly at: string };
  readonly status: string;
  readonly attempts: number;
  readonly nextAt?: string;
  readonly lastError?: string;
}

const STATUSES = [
  { value: '', label: 'All' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'failed', label: 'Failed' },
  { value: 'withheld', label: 'Withheld' },
] as const;
const TONES: Readonly<Record<string, 'good' | 'warn' | 'alarm' | 'plain'>> = {
  delivered: 'good',
  waiting: 'warn',
  failed: 'alarm',
};
const EVERY_MS = 5000;

/** What was sent, waits and failed, each to be sent again. */
export function Deliveries({ webhookId }: { readonly webhookId: string }) {
  const [status, setStatus] = useState<(typeof STATUSES)[number]['value']>('');
  const asked = { id: webhookId, limit: 50, ...(status !== '' && { status }) };
  const { rows, loading, error, more } = usePages<Delivery>('list_webhook_deliveries', asked);
  const mayRetry = useMay('retry_webhook_delivery');
  useRenewed(rows.some((row) => row.status === 'waiting'));
  if (error) return <ErrorBox error={error} />;
  return (
    <div class="overview">
      <Segments label="Status" value={status} options={STATUSES} onChange={setStatus} />
      {rows.length > 0 ? (
        <Table
          label="Deliveries"
          columns={mayRetry ? [...COLUMNS, RETRY] : COLUMNS}
          rows={rows}
          keyOf={({ id }) => id}
          onMore={more}
          loading={loading}
        />
      ) : loading ? (
        <Skeleton lines={4} />
      ) : (
        <Empty title="Nothing here">What happens is listed here when it is to be sent; Test sends something now.</Empty>
      )}
    </div>
  );
}

/** Deliveries are no records that could be followed, so they are asked for again while some wait. */
function useRenewed(waits: boolean): void {
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') invalidate((tool) => tool === 'list_webhook_deliveries');
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [waits]);
}

const COLUMNS = [
  { id: 'at', title: 'Happened', cell: ({ event }: Delivery) => <Time at={event.at} /> },
  { id: 'type', title: 'Event', cell: ({ event }: Delivery) => event.type },
  { id: 'record', title: 'Record', cell: ({ event }: Delivery) => <Ref id={event.id} />, spare: 1 as const },
  {
    id: 'status',
    title: 'Status',
    cell: ({ status }: Delivery) => <Badge tone={TONES[status] ?? 'plain'} value={status} />,
  },
  {
    id: 'attempts',
    title: 'Attempts',
    cell: ({ attempts }: Delivery) => String(attempts),
    end: true,
    spare: 2 as const,
  },
  {
    id: 'error',
    title: 'Error',
    cell: ({ lastError, nextAt }: Delivery) => (
      <>
        {lastError}{' '}
        {lastError !== undefined && nextAt !== undefined && (
          <span class="quiet">
            Again <Time at={nextAt} />.
          </span>
        )}
      </>
    ),
    spare: 2 as const,
  },
];

const RETRY = {
  id: 'retry',
  title: '',
  cell: ({ id, event }: Delivery) => (event.type === 'webhook.test' ? '' : <Retry id={id} />),
  end: true,
};

function Retry({ id }: { readonly id: string }) {
  const [busy, setBusy] = useState(false);
  const retry = async () => {
    setBusy(true);
    try {
      await act('retry_webhook_delivery', { id });
      toast('It is sent again now.');
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return <Button look="quiet" icon="refresh" label="Send again" busy={busy} onClick={retry} />;
}
