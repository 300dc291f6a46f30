import { z } from 'zod';
import {
  ALL_PATHS,
  type ConnectionKind,
  type ConnectionRecord,
  connection,
  connectionFields as fields,
} from '../../resources/connection.ts';
import type { Issue } from '../../resources/error.ts';
import { expectedRevision, pageOf, paging, recordId } from '../../resources/fields.ts';
import { SECRET_MASK } from '../../resources/integration.ts';
import { refTo } from '../../resources/markers.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { requireNoIssues, ToolError } from '../core/errors.ts';
import type { ServerFacts } from '../core/registry/context.ts';
import { CREATES, DELETES, defineTool, type Fail, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { originOf, sealedTarget, showConnection, type Target } from './connection-secrets.ts';
import type { Outgoing } from './outgoing.ts';

const connectionId = refTo('connection', recordId).describe('Connection id (`con_…`), see list_connections.');
const MOST_CONNECTIONS = 200;

const listConnections = defineTool({
  name: 'list_connections',
  title: 'List connections',
  description:
    'List the ways out of this server, newest first: HTTP APIs, Slack and webhooks that send_http_request and send_message use. Secrets are masked. Returns a page.',
  keywords:
    'outgoing connections, where can bots send to, external APIs, Slack webhooks we post to, credentials for APIs, egress',
  access: { scope: 'admin', grant: 'connection:read', narrows: true },
  annotations: READS,
  input: z.strictObject(paging),
  output: pageOf(connection),
  errors: [],

  handler(input, { store, principal }) {
    const any = whereAllowed<ConnectionRecord>(principal.rights.limitedTo('connection', 'read'), 'id', 'name');
    return listPage(store.connections, input, { any }, showConnection);
  },
});

const createConnection = defineTool({
  name: 'create_connection',
  title: 'Create connection',
  description:
    'Let agents and flows send to one place outside, with a secret that they never see: an HTTP API, Slack, or a signed webhook. Calls wait for a person unless `askFirst` is false. Returns the connection.',
  keywords:
    'connect an API, add credentials for a REST API, post to Slack, incoming webhook URL, call an external service, egress, outgoing HTTP',
  access: { scope: 'admin', grant: 'connection:write' },
  annotations: { ...CREATES, openWorldHint: true },
  asks: async (input, _, inPerson) => asksNobody(input) && !inPerson,
  input: z.strictObject({
    name: fields.name,
    displayName: fields.displayName.optional(),
    kind: fields.kind,
    baseUrl: fields.baseUrl.optional(),
    webhookUrl: fields.webhookUrl.optional(),
    signingSecret: fields.signingSecret.optional(),
    auth: fields.auth.default({ type: 'none' }),
    methods: fields.methods.default(['GET', 'POST']),
    paths: fields.paths.default([ALL_PATHS]),
    rate: fields.rate.optional(),
    askFirst: fields.askFirst.default(true),
    enabled: fields.enabled.default(true),
  }),
  output: connection,
  errors: ['conflict'],

  authorize: (input, { principal }) => requireMayLoosen(asksNobody(input), principal),

  async handler(input, { store, principal, server, fail }) {
    const outgoing = outgoingOf(server);
    requireManager(principal, fail);
    requireMembers(input.kind, input);
    requireTarget(input);
    await requireAllowed(input, outgoing);
    if ((await store.connections.count({})) >= MOST_CONNECTIONS) {
      throw fail('conflict', `There are ${MOST_CONNECTIONS} connections, which is the limit; delete one first.`);
    }
    const id = newId('con');
    const { baseUrl = '', webhookUrl: _, signingSecret: __, auth, ...open } = input;
    const sealed = sealedTarget(id, { ...input, auth }, outgoing.box);
    const made = { auth, ...open, baseUrl, ...sealed, id, createdBy: principal.id };
    return showConnection(await store.connections.insert(made));
  },
});

const updateConnection = defineTool({
  name: 'update_connection',
  title: 'Update connection',
  description: `Change fields of a connection; null clears an optional one, ${SECRET_MASK} keeps a secret, which another origin needs again. Returns the connection.`,
  keywords:
    'rotate the token of an API, change the Slack channel URL, allow another path or method, switch a connection off, stop asking before sending',
  access: { scope: 'admin', grant: 'connection:write:{id}' },
  annotations: { ...UPDATES, openWorldHint: true },
  asks: async (input, store, inPerson) => !inPerson && loosens(input, store),
  input: z.strictObject({
    id: connectionId,
    displayName: fields.displayName.nullable().optional(),
    baseUrl: fields.baseUrl.optional(),
    webhookUrl: fields.webhookUrl.optional(),
    signingSecret: fields.signingSecret.optional(),
    auth: fields.auth.optional(),
    methods: fields.methods.optional(),
    paths: fields.paths.optional(),
    rate: fields.rate.nullable().optional(),
    askFirst: fields.askFirst.optional(),
    enabled: fields.enabled.optional(),
    expectedRevision,
  }),
  output: connection,
  errors: ['not_found', 'conflict'],

  authorize: async (input, { store, principal }) => requireMayLoosen(await loosens(input, store), principal),

  async handler({ id, expectedRevision: expected, ...change }, { store, principal, server, fail }) {
    const outgoing = outgoingOf(server);
    requireManager(principal, fail);
    const current = await store.connections.read(id);
    requireMembers(current.kind, change);
    await requireAllowed(change, outgoing);
    const { baseUrl: _, webhookUrl: __, signingSecret: ___, auth: ____, ...open } = change;
    const sealed = sealedTarget(id, change, outgoing.box, current);
    const moved = sealed.baseUrl !== undefined && originOf(sealed.baseUrl) !== originOf(current.baseUrl);
    const fresh = moved ? { lastFailure: null } : {};
    const updated = await store.connections.update(
      id,
      { ...open, ...sealed, ...fresh },
      { expectedRevision: expected },
    );
    return showConnection(updated);
  },
});

const deleteConnection = defineTool({
  name: 'delete_connection',
  title: 'Delete connection',
  description: 'Delete a connection for good, with its secrets. Nothing is sent by it any more.',
  keywords: 'remove an API connection, disconnect Slack messages, forget the credentials of an API',
  access: { scope: 'admin', grant: 'connection:write:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: connectionId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision: expected }, { store, principal, fail }) {
    requireManager(principal, fail);
    await store.connections.delete(id, { expectedRevision: expected });
    return {};
  },
});

export const connectionTools = [listConnections, createConnection, updateConnection, deleteConnection];

export function outgoingOf({ outgoing }: Pick<ServerFacts, 'outgoing'>): Outgoing {
  if (!outgoing) throw new ToolError('unavailable', 'This process sends nothing outside; ask the server.');
  return outgoing;
}

/** A connection holds secrets and is a way out, so only people and their keys manage them. @throws ToolError (forbidden) */
function requireManager({ type }: Principal, fail: Fail<never>): void {
  if (type === 'session' || type === 'api-key') return;
  throw fail('forbidden', 'Insufficient permissions', {
    issues: [{ path: '', message: `Connections are never managed by a principal of the type ${type}.` }],
  });
}

function asksNobody(input: object): boolean {
  return 'askFirst' in input && input.askFirst === false;
}

async function loosens(input: object, { connections }: Pick<Readers, 'connections'>): Promise<boolean> {
  const { id } = input as { readonly id: string }; // of the tool that has this member
  return asksNobody(input) && (await connections.get(id))?.askFirst === true;
}

function requireMayLoosen(isLooser: boolean, principal: Principal): void {
  if (isLooser) requireWithinRights(principal, { fullAccess: true });
}

type Members = {
  readonly [Name in 'baseUrl' | 'webhookUrl' | 'signingSecret' | 'auth' | 'methods' | 'paths']?: unknown;
};

/** The members that a kind of connection does not have. */
const WITHOUT: Readonly<Record<ConnectionKind, readonly (keyof Members)[]>> = {
  http: ['webhookUrl', 'signingSecret'],
  slack: ['baseUrl', 'signingSecret'],
  webhook: ['webhookUrl'],
};

function requireMembers(kind: ConnectionKind, input: Members): void {
  const issues = WITHOUT[kind].flatMap((path): Issue[] =>
    input[path] === undefined ? [] : [{ path, message: `A connection of the kind ${kind} has none; leave it out.` }],
  );
  requireNoIssues(issues);
  const { auth } = input as Partial<Pick<ConnectionRecord, 'auth'>>; // as the schema of the tool read it
  if (kind === 'http' || auth === undefined || auth.type === 'none') return;
  requireNoIssues([{ path: 'auth', message: `A connection of the kind ${kind} has none; leave it out.` }]);
}

const NEEDED: Readonly<Record<ConnectionKind, readonly (keyof Members)[]>> = {
  http: ['baseUrl'],
  slack: ['webhookUrl'],
  webhook: ['baseUrl', 'signingSecret'],
};

function requireTarget({ kind, ...input }: Members & { readonly kind: ConnectionKind }): void {
  requireNoIssues(
    NEEDED[kind].flatMap((path) =>
      input[path] === undefined ? [{ path, message: `The kind ${kind} requires it.` }] : [],
    ),
  );
}

type Addresses = Pick<Target, 'baseUrl' | 'webhookUrl' | 'auth'>;

async function requireAllowed({ baseUrl, webhookUrl, auth }: Addresses, outgoing: Outgoing): Promise<void> {
  const tokenUrl = auth?.type === 'oauth-client-credentials' ? auth.tokenUrl : undefined;
  const given = { baseUrl, webhookUrl: webhookUrl === SECRET_MASK ? undefined : webhookUrl, 'auth.tokenUrl': tokenUrl };
  for (const [path, url] of Object.entries(given)) {
    const message = url === undefined ? undefined : await outgoing.refusal(url);
    if (message !== undefined) requireNoIssues([{ path, message }]);
  }
}
