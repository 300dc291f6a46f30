import { z } from 'zod';
import { adminUser } from '../../resources/admin-user.ts';
import { apiKey } from '../../resources/api-key.ts';
import { timestamp } from '../../resources/fields.ts';
import { secret } from '../../resources/markers.ts';
import { showKey } from '../api-keys.ts';
import { formatGrant } from '../core/access/grants.ts';
import { ANYONE } from '../core/access/guarded-tool.ts';
import { isSession, type Principal } from '../core/access/principal.ts';
import { CREATES, DELETES, defineTool, READS } from '../core/registry/define-tool.ts';
import { confirmSession as confirm, openSession } from './open-sessions.ts';

/** Longer than any that the issuer takes, which refuses it as every wrong one. */
const LONGEST_TOKEN = 65_536;

const withIdToken = z.strictObject({
  idToken: secret(z.string().min(1).max(LONGEST_TOKEN).describe('Of the built-in issuer, see create_sign_in_link.')),
});

const createSession = defineTool({
  name: 'create_session',
  title: 'Create session cookie',
  description:
    'Sign a person in with an ID token, which works once. Sets the session cookie; returns who is signed in.',
  access: ANYONE,
  annotations: CREATES,
  doorOnly: true,
  inSteps: true,
  session: 'begins',
  input: withIdToken,
  output: z.object({ user: adminUser, expiresAt: timestamp }),
  errors: [],

  async handler({ idToken }, { server, client, principal: { id: address }, write, began, fail }) {
    if (!server.signIn) throw fail('unavailable', 'Nobody can sign in to this server.');
    const identity = await server.signIn.issuer.verify(idToken);
    await server.signIn.attempts.withEmail('session', identity.email, address);
    const { user, principal } = await write((store) => openSession(store, identity, { now: server.now(), client }));
    began(principal);
    return { user, expiresAt: principal.expiresAt };
  },
});

const getSession = defineTool({
  name: 'get_session',
  title: 'Verify session',
  description: 'Tell who you are: the session, key or connected app you call with, what it may do and until when.',
  access: ANYONE,
  annotations: READS,
  doorOnly: true,
  input: z.strictObject({}),
  output: z.object({
    type: z.enum(['session', 'api-key', 'app']),
    user: adminUser.optional().describe('Who is signed in, or whom the app acts for.'),
    key: apiKey.optional().describe('Of an API key.'),
    scopes: z.array(z.string()),
    grants: z.array(z.string()).optional().describe('If present, only grants are checked and scopes are ignored.'),
    expiresAt: timestamp.optional(),
  }),
  errors: [],

  async handler(_, { store, principal: { type, id, ownerId, scopes, grants, expiresAt } }) {
    const user = type === 'session' || type === 'app' ? await store.adminUsers.get(ownerId) : undefined;
    const key = type === 'api-key' ? await store.apiKeys.get(id) : undefined;
    return {
      type: credentialOf(type),
      ...(user && { user }),
      ...(key && { key: showKey(key) }),
      scopes: [...scopes],
      ...(grants && { grants: grants.map(formatGrant) }),
      ...(expiresAt !== undefined && { expiresAt }),
    };
  },
});

/** Only the door that checks passkeys calls it. */
const confirmSession = defineTool({
  name: 'confirm_session',
  title: 'Confirm session',
  description:
    'Show by an ID token that it is still you, for what needs a fresh sign-in. Returns until when that lasts.',
  access: ANYONE,
  annotations: CREATES,
  doorOnly: true,
  inSteps: true,
  input: withIdToken,
  output: z.object({ freshUntil: timestamp }),
  errors: ['conflict'],

  async handler({ idToken }, { principal, server, write, fail }) {
    if (!isSession(principal))
      throw fail('conflict', 'You are calling without a session, so there is none to confirm.');
    if (!server.signIn) throw fail('unavailable', 'Nobody can sign in to this server.');
    const identity = await server.signIn.issuer.verify(idToken);
    const now = server.now();
    const { freshUntil = now.toISOString() } = await write((store) => confirm(store, identity, { ...principal, now }));
    return { freshUntil };
  },
});

const deleteSession = defineTool({
  name: 'delete_session',
  title: 'Logout',
  description: 'Sign out: end the session you call with, on the server too, and clear its cookie.',
  access: ANYONE,
  annotations: DELETES,
  doorOnly: true,
  session: 'ends',
  input: z.strictObject({}),
  output: z.object({}),
  errors: ['conflict'],

  async handler(_, { store, principal, fail }) {
    if (!isSession(principal)) {
      throw fail(
        'conflict',
        'You are calling without a session, so there is none to end; revoke_api_key ends a key, disconnect_app an app.',
      );
    }
    await store.sessions.delete(principal.sessionId);
    return {};
  },
});

export const authTools = [createSession, getSession, confirmSession, deleteSession];

/** REST admits sessions, keys and connected apps only. */
function credentialOf(type: Principal['type']): 'session' | 'api-key' | 'app' {
  if (type === 'session' || type === 'api-key' || type === 'app') return type;
  throw new Error(`A caller of the type ${type} came in at the REST door.`);
}
