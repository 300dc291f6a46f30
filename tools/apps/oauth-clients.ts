import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import { namesUser, pageOf, paging, plainLine, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import {
  type OAuthClient,
  type OAuthClientRecord,
  oauthClient,
  oauthClientFields,
  oauthClientKind,
} from '../../resources/oauth-client.ts';
import { newId } from '../../store/ids.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { disconnectApps } from '../core/access/end-credentials.ts';
import { hashSecret, newSecret } from '../core/access/key-secret.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { requireNoIssues } from '../core/errors.ts';
import { CREATES, DELETES, defineTool, READS } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';

const listOAuthClients = defineTool({
  name: 'list_oauth_clients',
  title: 'List OAuth clients',
  description:
    'List the programs that can ask people to let them in, newest first, and how each became known. See list_connected_apps for who let them in.',
  keywords: 'registered applications, OAuth apps, client ids',
  access: { scope: 'admin', grant: 'oauth-client:read', narrows: true },
  annotations: READS,
  input: z.strictObject({ kind: oauthClientKind.optional(), ...paging }),
  output: pageOf(oauthClient),
  errors: [],

  handler({ kind, ...page }, { store, principal }) {
    const any = whereAllowed<OAuthClientRecord>(principal.rights.limitedTo('oauth-client', 'read'), 'id');
    return listPage(store.oauthClients, page, { where: { kind }, any }, showClient);
  },
});

const createOAuthClient = defineTool({
  name: 'create_oauth_client',
  title: 'Create OAuth client',
  description:
    'Make a client for a program that cannot register itself. Needs full access. Returns its `clientId` and, this once, the `secret` of a confidential one.',
  keywords:
    'register an application, client id and secret, OAuth app, OpenID Connect, single sign-on for an app, add an OAuth application',
  access: { scope: 'admin', grant: 'oauth-client:write', fullAccess: true },
  annotations: CREATES,
  answersSecret: true,
  input: z.strictObject({
    name: plainLine(oauthClientFields.name).describe('People see it when the program asks.'),
    redirectUris: z
      .array(plainLine(oauthClientFields.redirectUris.element))
      .min(1)
      .max(50)
      .describe('Where people are sent back to, letter for letter; on a loopback address any port.'),
    confidential: z.boolean().describe('Whether it can keep a secret, as a server can.'),
  }),
  output: oauthClient.extend({
    secret: z.string().optional().describe('Of a confidential client. Keep it: it cannot be shown again.'),
  }),
  errors: [],

  authorize: (_, { principal }) => requireWithinRights(principal, { fullAccess: true }),

  async handler({ name, redirectUris, confidential }, { store }) {
    requireRedirects(redirectUris);
    const secret = confidential ? newSecret('client') : undefined;
    const id = newId('ocl');
    const record = await store.oauthClients.insert({
      id,
      clientId: id,
      kind: 'made',
      name,
      redirectUris: [...new Set(redirectUris)],
      ...(secret !== undefined && { secretHash: hashSecret(secret) }),
      metadata: {},
    });
    return { ...showClient(record), ...(secret !== undefined && { secret }) };
  },
});

const deleteOAuthClient = defineTool({
  name: 'delete_oauth_client',
  title: 'Delete OAuth client',
  description:
    'Forget a client and end all its connections, from the next request on. Needs full access. A self-registered client can register again.',
  keywords: 'remove a registered application, unregister an OAuth app',
  access: { scope: 'admin', grant: 'oauth-client:write:{id}', fullAccess: true },
  annotations: DELETES,
  input: z.strictObject({
    id: refTo('oauth-client', recordId).describe('Client record id (`ocl_…`), see list_oauth_clients.'),
  }),
  output: oauthClient,
  errors: ['not_found'],

  authorize: (_, { principal }) => requireWithinRights(principal, { fullAccess: true }),

  async handler({ id }, { store, fail }) {
    const client = await store.oauthClients.get(id);
    if (!client) throw fail('not_found', `There is no OAuth client ${id}; list_oauth_clients shows them.`);
    await disconnectApps(store, { clientId: client.clientId });
    return showClient(await store.oauthClients.delete(id));
  },
});

export const oauthClientTools = [listOAuthClients, createOAuthClient, deleteOAuthClient];

function showClient({
  secretHash: _,
  metadata: __,
  networkHash: ___,
  revision: ____,
  updatedAt: _____,
  ...shown
}: OAuthClientRecord) {
  return shown satisfies OAuthClient;
}

/** @throws ToolError that names every address to which people may not be sent */
function requireRedirects(uris: readonly string[]): void {
  const issues = uris.flatMap((uri, index): Issue[] => {
    const problem = redirectProblem(uri);
    return problem === undefined
      ? []
      : [{ path: `redirectUris[${index}]`, message: `The address ${problem.replace(/\.$/, '')}; give another.` }];
  });
  requireNoIssues(issues);
}

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** A domain that somebody holds, turned around (RFC 8252, section 7.1). Schemes of browsers and systems have no dot, as a rule. */
const REVERSED_DOMAIN = /^[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:$/;
/** The exceptions: what opens there is no app of the person. */
const NO_APP = /^(?:x-apple|ms-[a-z\d-]+|chrome[a-z-]*|moz-[a-z-]+)\./;
/** Schemes without a dot at which well-known MCP clients publish their addresses. */
const WELL_KNOWN: readonly string[] = ['cursor:', 'vscode:', 'vscode-insiders:'];

/** Why answers of the authorization server may not be sent to the address. Undefined if they may. */
export function redirectProblem(uri: string): string | undefined {
  if (!URL.canParse(uri) || /[\s\p{Cc}\\]/u.test(uri)) return 'must be a whole address.';
  const { protocol, hostname } = new URL(uri);
  if (uri.includes('#')) return 'must have no fragment.';
  if (namesUser(uri)) return 'must name no user.';
  if (protocol === 'https:') return LOOPBACK.includes(hostname) ? 'must be http on this computer.' : undefined;
  if (protocol === 'http:') return LOOPBACK.includes(hostname) ? undefined : 'must be https, or http on this computer.';
  if (WELL_KNOWN.includes(protocol)) return undefined;
  if (REVERSED_DOMAIN.test(protocol) && !NO_APP.test(protocol)) return undefined;
  return `must not use the scheme ${protocol} but https, http on this computer, or a domain of yours turned around, as in com.example.app:/callback.`;
}
