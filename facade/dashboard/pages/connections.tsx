import type { Connection } from '../../../resources/connection.ts';
import { act, boot } from '../app.ts';
import { Button } from '../components/button.tsx';
import { alternatives } from '../components/form/alternatives.tsx';
import { Frame } from '../components/form/groups.tsx';
import { Part } from '../components/form/part.tsx';
import type { Members, PartProps } from '../components/form/state.ts';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, Badge, Mono, showSecret, Time } from '../ui.ts';

const KINDS: Readonly<Record<Connection['kind'], string>> = { http: 'HTTP API', slack: 'Slack', webhook: 'Webhook' };

export const Page = kindPage('connection', {
  empty: 'A connection lets agents and flows send to one place outside, with a secret that they never see.',
  subtitle: 'displayName',
  columns: [
    { title: 'Kind', cell: (row: Row) => KINDS[connectionOf(row).kind], width: '7rem' },
    { title: 'Sends to', cell: (row: Row) => new URL(connectionOf(row).baseUrl).host, hidePriority: 1 },
    { title: 'State', cell: (row: Row) => <Badge {...stateOf(row)} />, width: '7.5rem' },
    { title: 'Used', cell: (row: Row) => <Time at={row.lastUsedAt as string} />, alignEnd: true, hidePriority: 2 },
  ],
  without: [
    ...['displayName', 'kind', 'baseUrl', 'auth', 'methods', 'paths', 'askFirst', 'enabled'],
    ...['lastUsedAt', 'lastFailure'],
  ],
  fields: {
    kind: {},
    displayName: { hint: 'Like Team Slack.' },
    name: { hint: 'Cannot be changed later.' },
    rate: { add: 'Limit the rate' },
  },
  controls: {
    kind: alternatives('What it sends to', [
      { value: 'slack', label: 'Slack', hint: 'Messages into a channel.' },
      { value: 'http', label: 'HTTP API', hint: 'Requests to the paths that you allow.' },
      { value: 'webhook', label: 'Webhook', hint: 'Messages to an address of your own, signed if you like.' },
    ]),
    auth: AuthControl,
    webhookUrl: WebhookUrl,
    baseUrl: BaseUrl,
  },
  hiddenIn: hiddenFor,
  start: (query) => ({ kind: query.get('kind') ?? 'slack' }),
  actions: ConnectionActions,
  above: Sending,
  loss: () => 'Agents and flows that send by it fail from now on, and its secrets are deleted.',
});

const connectionOf = (row: Row) => row as Row & Connection; // as its tools answer it

/** What a kind of connection does not have. */
const WITHOUT: Readonly<Record<string, readonly string[]>> = {
  http: ['webhookUrl'],
  slack: ['baseUrl', 'auth', 'methods', 'paths'],
  webhook: ['webhookUrl', 'methods', 'paths'],
};

function hiddenFor({ kind }: Members): readonly string[] {
  return WITHOUT[String(kind)] ?? [];
}

function stateOf(row: Row) {
  const { enabled, lastFailure } = connectionOf(row);
  if (!enabled) return { tone: 'plain', children: 'Off' } as const;
  return lastFailure ? ({ tone: 'warn', children: 'Failing' } as const) : ({ tone: 'good', children: 'On' } as const);
}

function ConnectionActions({ row }: { readonly row: Row }) {
  const { id, name, kind, enabled, revision } = connectionOf(row);
  const test = async () => {
    if (kind !== 'http') {
      await act('send_message', { connection: id, text: `A test from ${boot.user.email}.` });
      return 'The test was taken.';
    }
    const { status } = await act<Row>('send_http_request', { connection: id, method: 'GET', path: testPath(row) });
    return `${name} answered ${String(status)}.`;
  };
  const turn = async () => {
    await act('update_connection', { id, enabled: !enabled, expectedRevision: revision });
    return enabled ? `${name} is off: nothing is sent by it.` : `${name} is on.`;
  };
  const needs = kind === 'http' ? 'send_http_request' : 'send_message';
  return (
    <>
      {enabled && <ActionButton needs={needs} text="Send a test" icon="send" run={test} />}
      <ActionButton
        needs="update_connection"
        text={enabled ? 'Switch off' : 'Switch on'}
        icon={enabled ? 'stop' : 'play'}
        run={turn}
      />
    </>
  );
}

/** The first path that is allowed and names no part that is not known. */
function testPath(row: Row): string {
  const { paths } = connectionOf(row);
  const plain = paths.map((path) => path.replace(/\*\*$/, '')).find((path) => !path.includes('*'));
  return plain || '/';
}

function Sending({ row }: { readonly row: Row }) {
  const { baseUrl, kind, auth, methods, paths, askFirst, lastUsedAt, lastFailure } = connectionOf(row);
  return (
    <section class="overview connection" aria-label="Sending">
      <p>
        <Badge {...stateOf(row)} />{' '}
        <span class="quiet">
          {lastUsedAt === undefined ? 'not used yet' : 'last used '}
          {lastUsedAt !== undefined && <Time at={lastUsedAt} />}
        </span>
      </p>
      <p>
        {KINDS[kind]} at <Mono>{baseUrl}</Mono>
      </p>
      {kind === 'http' && (
        <p>
          {methods.join(', ')} below{' '}
          {paths.map((path) => (
            <Mono key={path}>{path} </Mono>
          ))}
          <span class="quiet">{WAYS[auth.type]}</span>
        </p>
      )}
      <p class="quiet">
        {askFirst
          ? 'Agents, flows, capsules, apps and keys wait for a person before each call.'
          : 'Nobody is asked before a call.'}
      </p>
      {lastFailure && (
        <p class="note warn">
          Failed <Time at={lastFailure.at} />: {lastFailure.message}
        </p>
      )}
    </section>
  );
}

const WAYS: Readonly<Record<string, string>> = {
  none: 'without signing in',
  bearer: 'with a token',
  basic: 'with user and password',
  header: 'with a header of its own',
  'oauth-client-credentials': 'with tokens of an OAuth provider',
};

/** A record that is changed has its address already. */
function WebhookUrl({ beside = {}, ...props }: PartProps) {
  const description = 'In Slack: Apps, Incoming Webhooks, Add to Slack. Kept as a secret.';
  const schema = { ...props.schema, title: 'Incoming webhook URL', description };
  return <Part {...props} schema={schema} needed={beside.id === undefined} />;
}

function BaseUrl({ beside = {}, ...props }: PartProps) {
  const { description: _, ...schema } = props.schema;
  const title = beside.kind === 'webhook' ? 'Receiver URL' : 'Base URL';
  return <Part {...props} schema={{ ...schema, title }} needed />;
}

/** The members of each way to say who asks. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  none: [],
  bearer: ['secret'],
  basic: ['user', 'secret'],
  header: ['header', 'secret'],
  'oauth-client-credentials': ['user', 'secret', 'tokenUrl', 'scopes'],
  signature: ['secret'],
};
const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bearer: { secret: 'Token' },
  basic: { user: 'User', secret: 'Password' },
  header: { header: 'Header', secret: 'Value' },
  'oauth-client-credentials': { user: 'Client id', secret: 'Client secret', tokenUrl: 'Token URL' },
  signature: { secret: 'Signing secret' },
};

/** Asks for what the chosen way needs. A webhook is always signed. */
function AuthControl(props: PartProps) {
  const { schema, value, onChange, beside = {}, path, issues } = props;
  const isWebhook = beside.kind === 'webhook';
  const auth = (value ?? { type: isWebhook ? 'signature' : 'none' }) as Members; // an object, or nothing yet
  const type = String(auth.type);
  const { type: types, ...members } = schema.properties ?? {};
  const choices = (types?.enum ?? []).filter((one) => one !== 'signature');
  const make = () => {
    const secret = newSecret();
    onChange({ type: 'signature', secret });
    showSecret('The signing secret', secret, <p class="quiet">Give it to the receiver, which checks with it.</p>);
  };
  const change = (name: string) => (given: unknown) => onChange({ ...auth, [name]: given === '' ? undefined : given });
  return (
    <Frame {...props} schema={{ ...schema, title: isWebhook ? 'Signature' : 'Sign-in' }}>
      {!isWebhook && types && (
        <Part
          name="type"
          path={`${path}.type`}
          schema={{ ...types, title: 'How', enum: choices }}
          needed
          value={type}
          issues={issues}
          onChange={(picked) => onChange({ type: picked })}
        />
      )}
      {(MEMBERS[type] ?? []).map((name) => {
        const { description: _, ...member } = members[name] ?? {};
        const title = LABELS[type]?.[name];
        return (
          <Part
            key={name}
            name={name}
            path={`${path}.${name}`}
            schema={{ ...member, ...(title !== undefined && { title }) }}
            needed={name !== 'scopes'}
            value={auth[name]}
            issues={issues}
            onChange={change(name)}
          />
        );
      })}
      {isWebhook && auth.secret === undefined && <Button text="Make one" onClick={make} />}
    </Frame>
  );
}

/** As Standard Webhooks has them. */
function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
