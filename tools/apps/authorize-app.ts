import { z } from 'zod';
import { appClient, appScope, type ConnectedAppRecord } from '../../resources/connected-app.ts';
import { plainLine, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { appPrincipal, mayUseCapsule } from '../core/access/app-principal.ts';
import { budgetSubjectsIn } from '../core/access/budgets.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { ANYONE, type GuardedTool } from '../core/access/guarded-tool.ts';
import { endsWithKey, isSession, type Principal } from '../core/access/principal.ts';
import { forbidden } from '../core/errors.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { CREATES, defineTool, type Fail } from '../core/registry/define-tool.ts';

const NAME = 'authorize_app';
const line = (longest: number) => plainLine(z.string().min(1).max(longest));

/** Lets an app in. Only the consent page calls it, with the client and the address that the protocol has checked. */
export const authorizeApp = defineTool({
  name: NAME,
  title: 'Authorize app',
  description: 'Let an app act for you, or refuse it. Returns the connection that was made.',
  access: ANYONE,
  annotations: CREATES,
  lasting: {
    what: 'credential',
    of: ({ decision, scopes }: { readonly decision: string; readonly scopes: readonly string[] }) =>
      decision === 'allow' && scopes.includes('admin'),
  },
  doorOnly: true,
  input: z.strictObject({
    interaction: line(200).describe('The request of the app.'),
    decision: z.enum(['allow', 'deny']),
    clientId: line(2000),
    client: z.strictObject({ name: line(200), host: line(300), verified: appClient.shape.verified }),
    resource: line(2000).describe('URL of the MCP address that it asks for.'),
    scopes: z.array(appScope).default([]),
    capsuleId: refTo('capsule', recordId).optional().describe('Hands out the tools of this capsule instead of scopes.'),
    tokenPrefix: line(8).optional().describe('Of the capsule token that was given.'),
  }),
  output: z.object({ id: recordId.optional().describe('Of the connection.') }),
  errors: ['conflict'],

  async handler({ interaction: _, decision, ...asked }, { store, principal, server, fail }) {
    if (decision === 'deny') return {};
    const { capsuleId, tokenPrefix, scopes } = asked;
    if (isSession(principal)) {
      if (tokenPrefix !== undefined) throw fail('invalid_input', 'A person hands out no token.');
      if (capsuleId === undefined) requireScopes(principal, scopes, fail);
      else await requireCapsule(store, principal, capsuleId, fail);
    } else if (principal.type !== 'capsule' || principal.id !== capsuleId || tokenPrefix === undefined) {
      throw forbidden(WHO);
    }
    const { clientId, client, resource } = asked;
    const askFirst = isSession(principal) ? await askedBefore(store, { ...asked, userId: principal.ownerId }) : [];
    const app = await store.connectedApps.insert({
      clientId,
      client,
      resource,
      scopes: capsuleId === undefined ? scopes : [],
      ...(isSession(principal) && { userId: principal.ownerId, ...endsWithKey(principal) }),
      budgetSubjects: budgetSubjectsIn(principal),
      ...(askFirst.length > 0 && { askFirst }),
      ...(capsuleId !== undefined && { capsuleId }),
      ...(tokenPrefix !== undefined && { tokenPrefix }),
    });
    await requireGood(store, app, server, fail);
    return { id: app.id };
  },
});

/** The principal of the holder of a capsule's token: it may agree, and nothing else. */
export function agreeing(capsule: Principal): Principal {
  const allows = ({ name }: GuardedTool) => name === NAME;
  return { ...capsule, tools: { holder: 'the consent page', fingerprint: NAME, allows } };
}

/** What calls of the same client of the same person wait for: connecting again is no way around that. */
async function askedBefore(
  store: Readers,
  { userId, clientId }: Pick<ConnectedAppRecord, 'userId' | 'clientId'>,
): Promise<string[]> {
  const { records } = await store.connectedApps.find({ where: { userId }, limit: MOST_CONNECTIONS });
  const same = records.filter((app) => app.clientId === clientId);
  return [...new Set(same.flatMap(({ askFirst = [] }) => askFirst))];
}

const MOST_CONNECTIONS = 500;
const WHO = 'An app is let in by a person who is signed in, or with the token of a capsule.';

/** Nobody hands out more than they have (grants narrow whatever the scopes are), and who hands out nothing has not agreed. */
function requireScopes(principal: Principal, scopes: ConnectedAppRecord['scopes'], fail: Fail<never>): void {
  if (scopes.length === 0) throw fail('invalid_input', 'Choose what the app may do.');
  if (!principal.grants) requireWithinRights(principal, { scopes });
}

async function requireCapsule(store: Readers, principal: Principal, id: string, fail: Fail<never>): Promise<void> {
  const capsule = await store.capsules.get(id);
  if (capsule && mayUseCapsule(principal, capsule)) return;
  throw fail('forbidden', 'Insufficient permissions', { required: { scope: 'admin', grant: `capsule:use:${id}` } });
}

async function requireGood(
  store: Readers,
  app: ConnectedAppRecord,
  server: Pick<ServerContext, 'catalog' | 'now'>,
  fail: Fail<'conflict'>,
): Promise<void> {
  const found = await appPrincipal(store, app, { catalog: server.catalog, now: server.now() });
  if (typeof found === 'string') throw fail('conflict', found);
}
