import { z } from 'zod';
import {
  ALL_PATHS,
  type ConnectionAuth,
  type ConnectionKind,
  type ConnectionRecord,
  connection,
  connectionFields as fields,
} from '../../resources/connection.ts';
import type { Issue } from '../../resources/error.ts';
import { expectedRevision, pageOf, paging, recordId, sortBy } from '../../resources/fields.ts';
import { SECRET_MASK } from '../../resources/integration.ts';
import { refTo } from '../../resources/markers.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { requireNoIssues, ToolError } from '../core/errors.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { CREATES, DELETES, defineTool, type Fail, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { originOf, sealedTarget, showConnection, type Target } from './connection-secrets.ts';
import type { Outgoing } from './outgoing.ts';

const connectionId = refTo('connection', recordId).describe('Connection id, see list_connections.');
export const MOST_CONNECTIONS = 200;

/** What the answers of changes leave out is what was given, and how it is used. */
const changed = connection.omit({
  ...{ displayName: true, methods: true, paths: true, rate: true },
  ...{ lastUsedAt: true, lastFailure: true },
});

const listConnections = defineTool({
  name: 'list_connections',
  title: 'List connections',
  description: 'List the connections that send_http_request and send_message use. Returns a page.',
  keywords:
    'outgoing connections, where can bots send to, external APIs, Slack webhooks we post to, credentials for APIs, egress',
  access: { scope: 'admin', grant: 'connection:read', narrows: true },
  annotations: READS,
  input: z.strictObject({ ...sortBy('name'), ...paging }),
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
  description: 'Let agents and flows send to one place outside, by a secret they never see. Returns it.',
  keywords:
    'connect an API, add credentials for a REST API, post to Slack, incoming webhook URL, call an external service, egress, outgoing HTTP',
  access: { scope: 'admin', grant: 'connection:write' },
  forPeople: true,
  annotations: { ...CREATES, openWorldHint: true },
  needsApproval: async (input, _, inPerson) => asksNobody(input) && !inPerson,
  input: z.strictObject({
    kind: fields.kind,
    name: fields.name,
    displayName: fields.displayName.optional(),
    baseUrl: fields.baseUrl.optional(),
    webhookUrl: fields.webhookUrl.optional(),
    auth: fields.auth.optional(),
    methods: fields.methods.default(['GET', 'POST']),
    paths: fields.paths.default([ALL_PATHS]),
    rate: fields.rate.optional(),
    askFirst: fields.askFirst.default(true),
    enabled: fields.enabled.default(true),
  }),
  output: changed,
  errors: ['conflict'],

  authorize: (input, { principal }) => requireMayLoosen(asksNobody(input), principal),

  async handler(input, { store, principal, server, fail }) {
    const outgoing = outgoingOf(server);
    requireManager(principal, fail);
    const { auth = { type: 'none' as const } } = input;
    requireTarget(input);
    requireMembers(input.kind, { ...input, auth });
    await requireAllowed(input, outgoing);
    if ((await store.connections.count({})) >= MOST_CONNECTIONS) {
      throw fail('conflict', `There are ${MOST_CONNECTIONS} connections, which is the limit; delete one first.`);
    }
    const id = newId('con');
    const { baseUrl = '', webhookUrl: _, auth: __, ...open } = input;
    const sealed = sealedTarget(id, { ...input, auth }, outgoing.box);
    const made = { auth, ...open, baseUrl, ...sealed, id, createdBy: principal.id };
    return showConnection(await store.connections.insert(made));
  },
});

const updateConnection = defineTool({
  name: 'update_connection',
  title: 'Update connection',
  description: `Change a connection; null removes the rate limit, ${SECRET_MASK} keeps the stored secret unless the origin changes. Returns it.`,
  keywords:
    'rotate the token of an API, change the Slack channel URL, allow another path or method, switch a connection off, stop asking before sending',
  access: { scope: 'admin', grant: 'connection:write:{id}' },
  forPeople: true,
  annotations: { ...UPDATES, openWorldHint: true },
  needsApproval: async (input, store, inPerson) => !inPerson && loosens(input, store),
  input: z.strictObject({
    id: connectionId,
    displayName: fields.displayName.optional(),
    baseUrl: fields.baseUrl.optional(),
    webhookUrl: fields.webhookUrl.optional(),
    auth: fields.auth.optional(),
    methods: fields.methods.optional(),
    paths: fields.paths.optional(),
    rate: fields.rate.nullable().optional(),
    askFirst: fields.askFirst.optional(),
    enabled: fields.enabled.optional(),
    expectedRevision,
  }),
  output: changed,
  errors: ['not_found', 'conflict'],

  authorize: async (input, { store, principal }) => requireMayLoosen(await loosens(input, store), principal),

  async handler({ id, expectedRevision: expected, ...change }, { store, principal, server, fail }) {
    const outgoing = outgoingOf(server);
    requireManager(principal, fail);
    const current = await store.connections.read(id);
    requireMembers(current.kind, change);
    await requireAllowed(change, outgoing);
    const { baseUrl: _, webhookUrl: __, auth: ___, ...open } = change;
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
  description: 'Delete a connection for good, with its secrets.',
  keywords: 'remove an API connection, disconnect Slack messages, forget the credentials of an API',
  access: { scope: 'admin', grant: 'connection:write:{id}' },
  forPeople: true,
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

export function outgoingOf({ outgoing }: Pick<ServerContext, 'outgoing'>): Outgoing {
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

/** Whether what is sent by it asks nobody afterwards, and goes to more or to others than it did without asking. */
async function loosens(input: object, { connections }: Pick<Readers, 'connections'>): Promise<boolean> {
  const { id, askFirst } = input as { readonly id: string; readonly askFirst?: boolean }; // of the tool that has them
  const current = await connections.get(id);
  if (!current || (askFirst ?? current.askFirst)) return false;
  return (
    current.askFirst || WIDENING.some((member) => member in input) || ('enabled' in input && input.enabled === true)
  );
}

const WIDENING = ['baseUrl', 'webhookUrl', 'methods', 'paths'];

function requireMayLoosen(isLooser: boolean, principal: Principal): void {
  if (isLooser) requireWithinRights(principal, { fullAccess: true });
}

type Members = Target & { readonly methods?: unknown; readonly paths?: unknown };

/** The members that a kind of connection does not have, and those that it must have. */
const WITHOUT = { http: ['webhookUrl'], slack: ['baseUrl'], webhook: ['webhookUrl'] } as const;
const NEEDED = { http: ['baseUrl'], slack: ['webhookUrl'], webhook: ['baseUrl'] } as const;
const AUTHS: Readonly<Record<ConnectionKind, readonly ConnectionAuth['type'][]>> = {
  http: ['none', 'bearer', 'basic', 'header', 'oauth-client-credentials'],
  slack: ['none'],
  webhook: ['signature'],
};
const AUTH_MEMBERS: Readonly<Record<ConnectionAuth['type'], readonly (keyof ConnectionAuth)[]>> = {
  none: [],
  bearer: ['secret'],
  basic: ['user', 'secret'],
  header: ['header', 'secret'],
  'oauth-client-credentials': ['user', 'secret', 'tokenUrl'],
  signature: ['secret'],
};
/** As Standard Webhooks has them: 24 to 64 bytes in base64. */
const SIGNING_SECRET = /^(?:whsec_)?[A-Za-z0-9+/]{32,88}={0,2}$/;

/** Checks that the members fit the kind and each other. @throws ToolError (invalid_input) that names those that do not */
function requireMembers(kind: ConnectionKind, { auth, ...input }: Members): void {
  const issues: Issue[] = WITHOUT[kind].flatMap((path) =>
    input[path] === undefined ? [] : [{ path, message: `Connections of the kind ${kind} have none; leave it out.` }],
  );
  if (auth) {
    const has = (member: keyof ConnectionAuth) => auth[member] !== undefined;
    const members = AUTH_MEMBERS[auth.type];
    const others = (['user', 'header', 'secret', 'tokenUrl', 'scopes'] as const).filter(
      (one) => !members.includes(one),
    );
    const extra = others.filter((one) => has(one) && !(one === 'scopes' && auth.type.startsWith('oauth')));
    if (!AUTHS[kind].includes(auth.type))
      issues.push({ path: 'auth.type', message: `For the kind ${kind} write ${AUTHS[kind].join(', ')}.` });
    for (const one of members)
      if (!has(one)) issues.push({ path: `auth.${one}`, message: `Is required for ${auth.type}; give it.` });
    for (const one of extra) issues.push({ path: `auth.${one}`, message: `Is not for ${auth.type}; leave it out.` });
    const { secret = '' } = auth;
    if (auth.type === 'signature' && secret !== SECRET_MASK && !SIGNING_SECRET.test(secret))
      issues.push({ path: 'auth.secret', message: 'Write whsec_ and 24 to 64 bytes in base64.' });
    if (auth.type === 'basic' && auth.user?.includes(':'))
      issues.push({ path: 'auth.user', message: 'May hold no colon; write another.' });
  }
  requireNoIssues(issues);
}

function requireTarget({ kind, ...input }: Target & { readonly kind: ConnectionKind }): void {
  requireNoIssues(
    NEEDED[kind].flatMap((path) =>
      input[path] === undefined ? [{ path, message: `Is required for ${kind}; give it.` }] : [],
    ),
  );
}

async function requireAllowed({ baseUrl, webhookUrl, auth }: Target, outgoing: Outgoing): Promise<void> {
  const given = {
    baseUrl,
    webhookUrl: webhookUrl === SECRET_MASK ? undefined : webhookUrl,
    'auth.tokenUrl': auth?.tokenUrl,
  };
  for (const [path, url] of Object.entries(given)) {
    const message = url === undefined ? undefined : await outgoing.refusal(url);
    if (message !== undefined) requireNoIssues([{ path, message }]);
  }
}
