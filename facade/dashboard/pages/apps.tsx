import type { ConnectedApp } from '../../../resources/connected-app.ts';
import type { OAuthClient } from '../../../resources/oauth-client.ts';
import {
  act,
  go,
  kinds,
  titleOf,
  unifiedEndpoint,
  useListedRecord,
  useLocation,
  useMay,
  useTitle,
  wordOf,
} from '../app.ts';
import { AskFirst } from '../components/folded-tools.tsx';
import { FormButton } from '../components/form/form-button.tsx';
import { FoundRows } from '../kind/found-rows.tsx';
import type { Row } from '../kind/spec.ts';
import {
  AskButton,
  Badge,
  Code,
  type Column,
  DetailBar,
  Empty,
  ErrorBox,
  Facts,
  LinkButton,
  Mono,
  PageBody,
  Ref,
  Skeleton,
  showSecret,
  Tabs,
  Time,
} from '../ui.ts';
import { BudgetsOf } from './budgets/budget.tsx';

export function Page() {
  const mayList = useMay('list_oauth_clients');
  const [, open] = useLocation().parts;
  if (open !== undefined) return <AppPane key={open} id={open} />;
  return (
    <PageBody title="Connected apps">
      <Tabs
        label="Connected apps"
        tabs={[
          { id: 'apps', label: 'Connected', content: () => <Connections /> },
          ...(mayList ? [{ id: 'clients', label: 'Clients', content: () => <Clients /> }] : []),
        ]}
      />
    </PageBody>
  );
}

const APPS = { ...kinds.app, name: (row: Row) => titleOf(kinds.app, row) ?? '' };

function Connections() {
  const mayEnd = useMay('disconnect_app');
  const end = { title: '', end: true, cell: (app: ConnectedApp) => <Disconnect app={app} /> };
  return (
    <FoundRows
      list={APPS}
      columns={mayEnd ? [...APP_COLUMNS, end] : APP_COLUMNS}
      to={({ id }) => `/apps/${encodeURIComponent(id)}`}
      none={<NoApps />}
    />
  );
}

const APP_COLUMNS: readonly Column<ConnectedApp>[] = [
  {
    title: 'App',
    cell: ({ client }) => (
      <>
        <strong>{client.name}</strong> <AppHost client={client} />
      </>
    ),
  },
  { title: 'May', cell: mayOf, hidePriority: 1 },
  { title: 'For', cell: forOf, hidePriority: 2 },
  { title: 'Used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, alignEnd: true, hidePriority: 2 },
  { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} />, alignEnd: true, hidePriority: 3 },
];

/** Where it comes from, and whether that is proven. */
function AppHost({ client: { host, verified } }: Pick<ConnectedApp, 'client'>) {
  return <Badge tone={verified ? 'good' : 'warn'}>{verified ? host : `${host}, unverified`}</Badge>;
}

function mayOf({ capsuleId, scopes }: ConnectedApp) {
  return capsuleId === undefined ? scopes.map(wordOf).join(', ') : <Ref id={capsuleId} />;
}

function forOf({ userId }: ConnectedApp) {
  return userId === undefined ? 'A holder of the token' : <Ref id={userId} />;
}

function NoApps() {
  const address = (
    <div class="empty-connect">
      <Code value={unifiedEndpoint()} label="Address" />
      <LinkButton text="Connect" icon="link" to="/connect" />
    </div>
  );
  return (
    <Empty title="No app is connected yet" action={address}>
      Paste the address into Claude, ChatGPT or another client, sign in here, and say what it may do.
    </Empty>
  );
}

function Disconnect({ app, onDone }: Readonly<{ app: ConnectedApp; onDone?: () => void }>) {
  const run = async () => {
    await act('disconnect_app', { id: app.id });
    onDone?.();
  };
  const ask = { title: `Disconnect ${app.client.name}?`, action: 'Disconnect', run };
  return (
    <AskButton needs="disconnect_app" text="Disconnect" ask={ask}>
      <p>Its tokens and whatever it has under way stop at once. It can ask to be connected again.</p>
    </AskButton>
  );
}

function AppPane({ id }: { readonly id: string }) {
  const list = useListedRecord<ConnectedApp>(kinds.app.list, { limit: 100 }, (one) => one.id === id);
  const { data: app, isGone, error } = list;
  useTitle(app?.client.name);
  return (
    <section class="page-body" aria-label={app?.client.name ?? 'Connected app'}>
      {error && <ErrorBox error={error} />}
      {app ? <OneApp app={app} /> : !error && (isGone ? <Gone id={id} /> : <Skeleton lines={6} />)}
    </section>
  );
}

function OneApp({ app }: { readonly app: ConnectedApp }) {
  const mayBudget = useMay('create_budget');
  const { id, client, askFirst = [], revision, createdAt, lastUsedAt } = app;
  const asks = askFirst.length > 0 && { 'Asks first': <Mono>{askFirst.join(', ')}</Mono> };
  return (
    <>
      <DetailBar all="connected apps" to="/apps" name={client.name}>
        <span class="page-actions">
          <FormButton
            text="Ask first"
            icon="person"
            title={`What ${client.name} asks first`}
            tool="update_connected_app"
            given={{ id, expectedRevision: revision }}
            start={{ askFirst: [...askFirst] }}
            own={{ askFirst: AskFirst }}
            action="Save"
            run={(input) => act('update_connected_app', input)}
          />
          <Disconnect app={app} onDone={() => go('/apps')} />
        </span>
      </DetailBar>
      <div class="detail-title">
        <h1>
          {client.name} <AppHost client={client} />
        </h1>
      </div>
      <div class="overview">
        <Facts
          of={{
            May: mayOf(app),
            ...asks,
            For: forOf(app),
            Used: <Time at={lastUsedAt} />,
            Since: <Time at={createdAt} />,
          }}
        />
        {mayBudget && (
          <section class="block">
            <h2>Budgets</h2>
            <BudgetsOf type="app" id={id} />
          </section>
        )}
      </div>
    </>
  );
}

function Gone({ id }: { readonly id: string }) {
  return (
    <Empty title="There is no such app" action={<LinkButton text="All connected apps" to="/apps" />}>
      {id} was disconnected, or you may not see it.
    </Empty>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  metadata: 'Published by its host',
  registered: 'Registered itself',
  made: 'Created here',
};

const CLIENTS = { list: 'list_oauth_clients', title: 'name', words: { one: 'client', many: 'clients' } };

function Clients() {
  const mayDelete = useMay('delete_oauth_client');
  const columns = mayDelete ? [...CLIENT_COLUMNS, { title: '', end: true, cell: Forget }] : CLIENT_COLUMNS;
  return (
    <div class="overview">
      <div class="section-head">
        <p class="quiet">Most clients make themselves known. Make one here for a program that cannot.</p>
        <FormButton
          text="New client"
          icon="plus"
          title="New client"
          tool="create_oauth_client"
          action="Make client"
          run={make}
        />
      </div>
      <FoundRows list={CLIENTS} columns={columns} none={<Empty title="No client is known yet" />} />
    </div>
  );
}

async function make(input: object): Promise<void> {
  const { name, clientId, secret } = await act<OAuthClient & { readonly secret?: string }>(
    'create_oauth_client',
    input,
  );
  if (secret === undefined) return;
  showSecret(
    `The secret of ${name}`,
    secret,
    <p>
      Its client id is <Mono>{clientId}</Mono>.
    </p>,
  );
}

function Forget({ id, name }: OAuthClient) {
  const run = () => act('delete_oauth_client', { id });
  return (
    <AskButton text="Forget" ask={{ title: `Forget ${name}?`, action: 'Forget client', run }}>
      <p>All its connections end at once, those of other people too.</p>
    </AskButton>
  );
}

const CLIENT_COLUMNS: readonly Column<OAuthClient>[] = [
  { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
  { title: 'How', cell: ({ kind }) => <Badge tone="plain">{KINDS[kind] ?? kind}</Badge>, hidePriority: 1 },
  { title: 'Client id', cell: ({ clientId }) => <Mono>{clientId}</Mono>, hidePriority: 2 },
  { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} />, alignEnd: true, hidePriority: 3 },
];
