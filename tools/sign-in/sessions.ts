import { z } from 'zod';
import { adminUserFields } from '../../resources/admin-user.ts';
import { pageOf, paging, recordId, timestamp } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { type Session, type SessionRecord, session } from '../../resources/session.ts';
import { requireCredential } from '../core/access/credential.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { hasRight, isOwn, listFilter } from '../core/access/ownership.ts';
import { isSession, type Principal } from '../core/access/principal.ts';
import { CREATES, DELETES, defineTool, READS } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { mayUserSignIn } from './open-sessions.ts';

const listSessions = defineTool({
  name: 'list_sessions',
  title: 'List sessions',
  description:
    'List who is signed in to the dashboard: the sessions that have not ended, newest first. Without admin rights: your own.',
  keywords:
    'where am I logged in, open logins, devices signed in, browsers, who is logged in, active sessions, on which devices am I logged in',
  access: { scope: 'admin', grant: 'session:read', narrows: true },
  annotations: READS,
  own: true,
  input: z.strictObject({
    userId: refTo('admin-user', recordId).optional().describe('Only those of this admin user.'),
    ...paging,
  }),
  output: pageOf(session),
  errors: [],

  handler(input, { store, principal }) {
    const any = listFilter<SessionRecord>(principal, 'session', { userId: principal.ownerId });
    const query = { where: { userId: input.userId }, any };
    return listPage(store.sessions, input, query, (record) => showSession(record, principal));
  },
});

const endSession = defineTool({
  name: 'end_session',
  title: 'End session',
  description:
    'Sign a person out of one session, from the next request on. Without admin rights: your own. Returns the session as it was.',
  keywords:
    'log out, sign out, log me out everywhere, kick a device, terminate a login, log out everywhere, log out another browser, logout',
  access: { scope: 'admin', grant: 'session:write:{id}' },
  annotations: DELETES,
  own: true,
  input: z.strictObject({ id: refTo('session', recordId).describe('Session id (`ses_…`), see list_sessions.') }),
  output: session,
  errors: ['not_found'],

  async handler({ id }, { store, principal, fail }) {
    const found = await store.sessions.get(id);
    if (!found || !(isOwn(principal, found.userId) || hasRight(principal, 'session', 'write', id)))
      throw fail('not_found', `There is no session ${id}, or it has ended; list_sessions shows the current ones.`);
    return showSession(await store.sessions.delete(id), principal);
  },
});

const createSignInLink = defineTool({
  name: 'create_sign_in_link',
  title: 'Create sign-in link',
  description:
    'Let an active admin user sign in without mail, for 10 minutes. Needs full access. Returns a link for a browser and an ID token for scripts, each good once. A session begun so ends with the key that made it.',
  keywords:
    'login link, magic link, log in, cannot sign in, forgot password, let somebody in by e-mail, send a login link, make a login link, I cannot log in',
  access: { scope: 'admin', grant: 'admin-user:write', fullAccess: true },
  annotations: CREATES,
  answersSecret: true,
  input: z.strictObject({ email: adminUserFields.email.describe('Of the admin user, see list_admin_users.') }),
  output: z.object({
    url: z.string().describe('Opening it signs in; keep it secret.'),
    idToken: z.string().describe('For POST /api/v1/auth/session.'),
    expiresAt: timestamp,
  }),
  errors: ['not_found'],

  async authorize({ email }, { store, principal }) {
    requireWithinRights(principal, { fullAccess: true });
    const user = await mayUserSignIn(store, email);
    const credential = { way: 'sign-in', rights: { fullAccess: true }, ownerId: user?.id } as const;
    if (user) await requireCredential({ store, principal }, credential);
  },

  async handler({ email }, { store, principal, server, fail }) {
    if (!server.signIn) throw fail('unavailable', 'Nobody can sign in to this server.');
    const user = await mayUserSignIn(store, email);
    if (!user) {
      throw fail(
        'not_found',
        'No active admin user of a domain that may sign in has this e-mail; see list_admin_users.',
      );
    }
    const { id, ...link } = await server.signIn.createLink(store, user, principal);
    return { ...link, idToken: server.signIn.issuer.issue(user, id).idToken };
  },
});

export const sessionTools = [createSignInLink, listSessions, endSession];

function showSession(record: SessionRecord, principal: Principal): Session {
  return { ...record, isCurrent: isSession(principal) && record.id === principal.sessionId };
}
