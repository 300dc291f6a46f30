import { useState } from 'preact/hooks';
import { act, useMay, usePagedList } from '../../app.ts';
import { ActionButton, Badge, type Column, Empty, PagedTable, Ref, Segments, Time } from '../../ui.ts';
import { useRenewed } from '../../use-renewed.ts';

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

/** What was sent, waits and failed, each to be sent again. */
export function Deliveries({ webhookId }: { readonly webhookId: string }) {
  const [status, setStatus] = useState<(typeof STATUSES)[number]['value']>('');
  const asked = { id: webhookId, limit: 50, ...(status !== '' && { status }) };
  const pages = usePagedList<Delivery>('list_webhook_deliveries', asked);
  const mayRetry = useMay('retry_webhook_delivery');
  useRenewed(pages.rows.some((row) => row.status === 'waiting'));
  return (
    <div class="overview">
      <Segments label="Status" value={status} options={STATUSES} onChange={setStatus} />
      <PagedTable
        label="Deliveries"
        columns={mayRetry ? [...COLUMNS, RETRY] : COLUMNS}
        pages={pages}
        none={
          <Empty title="Nothing here">
            What happens is listed here when it is to be sent; Test sends something now.
          </Empty>
        }
      />
    </div>
  );
}

const COLUMNS: readonly Column<Delivery>[] = [
  { title: 'Happened', cell: ({ event }) => <Time at={event.at} /> },
  { title: 'Event', cell: ({ event }) => event.type },
  { title: 'Record', cell: ({ event }) => <Ref id={event.id} />, spare: 1 },
  { title: 'Status', cell: ({ status }) => <Badge tone={TONES[status] ?? 'plain'} value={status} /> },
  { title: 'Attempts', cell: ({ attempts }) => String(attempts), end: true, spare: 2 },
  {
    title: 'Error',
    cell: ({ lastError, nextAt }) => (
      <>
        {lastError}{' '}
        {lastError !== undefined && nextAt !== undefined && (
          <span class="quiet">
            Again <Time at={nextAt} />.
          </span>
        )}
      </>
    ),
    spare: 2,
  },
];

const RETRY = {
  title: '',
  cell: ({ id, event }: Delivery) => (event.type === 'webhook.test' ? '' : <Retry id={id} />),
  end: true,
};

function Retry({ id }: { readonly id: string }) {
  const retry = async () => {
    await act('retry_webhook_delivery', { id });
    return 'It is sent again now.';
  };
  return <ActionButton look="quiet" icon="refresh" label="Send again" run={retry} />;
}
