import { useState } from 'preact/hooks';
import type { Webhook, WebhookDelivery } from '../../../resources/webhook.ts';
import { act, useAnswer, useMay, usePagedList, wordOf } from '../app.ts';
import { IssueText } from '../components/form/field.tsx';
import { issueAt, type PartProps } from '../components/form/state.ts';
import { RotateButton } from '../components/rotate.tsx';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, Badge, type Column, Empty, Mono, PagedTable, Ref, Segments, showSecret, Time } from '../ui.ts';
import { usePolling } from '../use-polling.ts';
import { TargetControl } from './webhooks/target.tsx';

export const Page = kindPage('webhook', {
  empty: 'A webhook tells another system, or people by mail, what happens here and what they should look at.',
  columns: [
    { title: 'Sends to', cell: (row: Row) => targetOf(webhookOf(row)), hidePriority: 1 },
    { title: 'State', cell: (row: Row) => <Badge {...STATES[webhookOf(row).state]} />, width: '7.5rem' },
    { title: 'Sent', cell: (row: Row) => <Time at={row.lastSentAt as string} />, alignEnd: true, hidePriority: 2 },
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
  fields: {
    name: { hint: 'Like Deployments.' },
    target: {},
    events: {},
    alerts: {},
    fields: {
      label: 'What else to send',
      hint: 'Fields of records, like title. Default: only which record it was.',
    },
  },
  makes: {
    title: 'New webhook',
    action: 'Create webhook',
    intro: 'Says what happens from now on: which record it was about, and what else you name of it.',
  },
  controls: { target: TargetControl, events: EventsControl, alerts: AlertsControl },
  actions: WebhookActions,
  above: Sending,
  tabs: (row) => [{ id: 'deliveries', label: 'Deliveries', content: () => <Deliveries webhookId={String(row.id)} /> }],
  loss: () => 'What waits for it is not sent any more, and the list of its deliveries goes too.',
  onCreated: ({ name, secret }) => {
    const about = 'Its receiver checks with it that requests come from here, as Standard Webhooks says.';
    if (typeof secret === 'string') showSecret(`The secret of ${name}`, secret, <p class="quiet">{about}</p>);
  },
});

function WebhookActions({ row }: { readonly row: Row }) {
  const test = async () => {
    const { status, lastError } = await act<Row>('test_webhook', { id: row.id });
    return status === 'delivered' ? 'The test arrived.' : `The test did not arrive. ${String(lastError)}`;
  };
  const turn = async () => {
    await act('update_webhook', { id: row.id, enabled: !row.enabled, expectedRevision: row.revision });
    return row.enabled ? `${String(row.name)} is off: nothing is noted or sent.` : `${String(row.name)} is on.`;
  };
  const rotating = {
    id: String(row.id),
    name: String(row.name),
    word: 'secret',
    tool: 'rotate_webhook_secret',
    warning: 'Until the old secret stops, both sign, so that the receiver can change over.',
  } as const;
  return (
    <>
      <ActionButton needs="test_webhook" text="Test" icon="send" run={test} />
      <ActionButton
        needs="update_webhook"
        text={row.enabled ? 'Switch off' : 'Switch on'}
        icon={row.enabled ? 'stop' : 'play'}
        run={turn}
      />
      {row.secret !== undefined && <RotateButton of={rotating} />}
    </>
  );
}

const webhookOf = (row: Row) => row as Row & Webhook; // as its tools answer it

function Sending({ row }: { readonly row: Row }) {
  const { state, owner, target, stopped, ...webhook } = webhookOf(row);
  const { lastSentAt, failingSince, leavesOutSince, earlierSecretUntil, lastError } = webhook;
  return (
    <section class="overview connection" aria-label="Sending">
      <p>
        <Badge {...STATES[state]} />{' '}
        <span class="quiet">
          {lastSentAt === undefined ? 'nothing sent yet' : 'last sent '}
          {lastSentAt !== undefined && <Time at={lastSentAt} />}
          {`, hears of what ${owner.name} may read`}
        </span>
      </p>
      <p>
        Sends to <Mono>{target.url ?? target.email}</Mono>
      </p>
      {stopped !== undefined && (
        <p class="note warn">{`Switched off: ${stopped} Switch it on again when the receiver works; what waits is sent then.`}</p>
      )}
      {stopped === undefined && failingSince !== undefined && (
        <p class="note warn">
          Every attempt failed since <Time at={failingSince} />. {lastError} What waits is sent when it works again.
        </p>
      )}
      {leavesOutSince !== undefined && (
        <p class="note warn">
          So much waits that events are left out since <Time at={leavesOutSince} />.
        </p>
      )}
      {earlierSecretUntil !== undefined && (
        <p class="note">
          The secret before signs too until <Time at={earlierSecretUntil} />.
        </p>
      )}
    </section>
  );
}

const STATES = {
  ok: { tone: 'good', children: 'Works' },
  failing: { tone: 'warn', children: 'Failing' },
  stopped: { tone: 'alarm', children: 'Stopped' },
  disabled: { tone: 'plain', children: 'Off' },
} as const;

function targetOf({ target }: Webhook): string {
  const { url, email = '' } = target;
  if (url === undefined) return email;
  return URL.canParse(url) ? new URL(url).host : url;
}

function EventsControl(props: PartProps) {
  const { data } = useAnswer<{ readonly data: readonly { readonly type: string }[] }>('list_event_types');
  const types = (data?.data ?? []).map(({ type }) => type);
  const kinds = [...new Set(types.map(kindOf))];
  const groups = kinds.map((kind) => ({
    label: wordOf(kind.replaceAll('.', ' ')),
    options: types.filter((type) => kindOf(type) === kind).map((type) => ({ type, label: wordOf(whatOf(type)) })),
  }));
  return <Types {...props} legend="Events" groups={groups} />;
}

function AlertsControl(props: PartProps) {
  const types = (props.schema.items?.enum ?? []).map(String);
  const options = types.map((type) => ({ type, label: wordOf(type.replace('.', ' ')) }));
  return <Types {...props} legend="Alerts" groups={[{ options }]} />;
}

function kindOf(type: string): string {
  return type.slice(0, type.lastIndexOf('.'));
}

function whatOf(type: string): string {
  return type.slice(kindOf(type).length + 1);
}

type Group = Readonly<{ label?: string; options: readonly { readonly type: string; readonly label: string }[] }>;

function Types(props: PartProps & { readonly legend: string; readonly groups: readonly Group[] }) {
  const { value, onChange, path, issues, legend, groups } = props;
  const picked: readonly string[] = Array.isArray(value) ? value.map(String) : [];
  const issue = issueAt(props) ?? issues.find((each) => each.path.startsWith(`${path}[`))?.message;
  const set = (type: string, is: boolean) => onChange(is ? [...picked, type] : picked.filter((each) => each !== type));
  return (
    <fieldset class={issue ? 'frame wrong' : 'frame'}>
      <legend>{legend}</legend>
      <div class="type-groups">
        {groups.map(({ label, options }) => (
          <div key={label} class="type-group">
            {label !== undefined && <span class="label type-kind">{label}</span>}
            {options.map((option) => (
              <label key={option.type} class="check">
                <input
                  type="checkbox"
                  aria-label={label === undefined ? option.label : `${label}: ${option.label}`}
                  checked={picked.includes(option.type)}
                  onChange={({ currentTarget }) => set(option.type, currentTarget.checked)}
                />
                <span>{option.label}</span>
              </label>
            ))}
          </div>
        ))}
      </div>
      <IssueText issue={issue} />
    </fieldset>
  );
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

function Deliveries({ webhookId }: { readonly webhookId: string }) {
  const [status, setStatus] = useState<(typeof STATUSES)[number]['value']>('');
  const asked = { id: webhookId, limit: 50, ...(status !== '' && { status }) };
  const pages = usePagedList<WebhookDelivery>('list_webhook_deliveries', asked);
  const mayRetry = useMay('retry_webhook_delivery');
  usePolling(pages.rows.some((row) => row.status === 'waiting'));
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

const COLUMNS: readonly Column<WebhookDelivery>[] = [
  { title: 'Happened', cell: ({ event }) => <Time at={event.at} /> },
  { title: 'Event', cell: ({ event }) => event.type },
  { title: 'Record', cell: ({ event }) => <Ref id={event.id} />, hidePriority: 1 },
  { title: 'Status', cell: ({ status }) => <Badge tone={TONES[status] ?? 'plain'} value={status} /> },
  { title: 'Attempts', cell: ({ attempts }) => String(attempts), alignEnd: true, hidePriority: 2 },
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
    hidePriority: 2,
  },
];

const RETRY = {
  title: '',
  cell: ({ id, event }: WebhookDelivery) => (event.type === 'webhook.test' ? '' : <Retry id={id} />),
  end: true,
};

function Retry({ id }: { readonly id: string }) {
  const retry = async () => {
    await act('retry_webhook_delivery', { id });
    return 'It is sent again now.';
  };
  return <ActionButton look="quiet" icon="refresh" label="Send again" run={retry} />;
}
