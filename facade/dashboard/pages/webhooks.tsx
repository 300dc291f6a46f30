import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { Badge, SecretOnce, showDialog, Time } from '../ui.ts';
import { WebhookActions } from './webhooks/actions.tsx';
import { Deliveries } from './webhooks/deliveries.tsx';
import { AlertsControl, EventsControl } from './webhooks/events-control.tsx';
import { Sending, stateBadge, targetOf } from './webhooks/sending.tsx';

export const Page = kindPage('webhook', {
  empty: 'A webhook tells another system, or people by mail, what happens here and what they should look at.',
  columns: [
    { title: 'Sends to', cell: (row: Row) => targetOf(row), spare: 1 },
    { title: 'State', cell: (row: Row) => <Badge {...stateBadge(row)} />, width: '7.5rem' },
    { title: 'Sent', cell: (row: Row) => <Time at={row.lastSentAt as string} />, end: true, spare: 2 },
  ],
  without: [
    'target',
    'state',
    'stopped',
    'enabled',
    'lastError',
    'failingSince',
    'lastSentAt',
    'leavesOutSince',
    'earlierSecretUntil',
    'owner',
    'secret',
  ],
  controls: { events: EventsControl, alerts: AlertsControl },
  actions: WebhookActions,
  above: Sending,
  tabs: (row) => [{ id: 'deliveries', label: 'Deliveries', content: () => <Deliveries webhookId={String(row.id)} /> }],
  loss: () => 'What waits for it is not sent any more, and the list of its deliveries goes too.',
  onCreated: (made) => {
    const { name, secret } = made;
    if (typeof secret !== 'string') return;
    showDialog((close) => (
      <SecretOnce title={`The secret of ${String(name)}`} secret={secret} onClose={close}>
        <p class="quiet">Its receiver checks with it that requests come from here, as Standard Webhooks says.</p>
      </SecretOnce>
    ));
  },
});
