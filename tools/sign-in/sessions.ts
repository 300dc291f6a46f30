import { createHash } from 'node:crypto';
import type { AdminUser } from '../../resources/admin-user.ts';
import type { SessionRecord } from '../../resources/session.ts';
import type { Readers } from '../../store/port.ts';
import type { SessionPrincipal } from '../access/principal.ts';
import { scopeRights } from '../access/rights.ts';
import { readSettings } from '../settings/settings.ts';
import type { HistoryWriters } from '../versioning.ts';
import { CLOCK_SKEW_SECONDS, type VerifiedIdentity } from './id-token.ts';
import { refuseSignIn } from './refusal.ts';

/** However a session is used, it ends this long after it began. */
const SESSION_MS = 12 * 60 * 60 * 1000;

const SCOPES = ['*'];
const RIGHTS = scopeRights(SCOPES);

/** The active admin user of the e-mail, where it is one that may sign in. */
export async function mayUserSignIn(
  store: Pick<Readers, 'adminUsers' | 'settings'>,
  email: string,
): Promise<AdminUser | undefined> {
  const { signInDomains } = await readSettings(store);
  const { records } = await store.adminUsers.find({ where: { email: email.toLowerCase() }, limit: 1 });
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (signInDomains.length > 0 && !signInDomains.includes(domain)) return undefined;
  return records[0]?.isActive ? records[0] : undefined;
}

export interface OpenedSession {
  readonly user: AdminUser;
  readonly principal: SessionPrincipal;
}

/**
 * Begins a session for whom the token tells of and uses up the token, in the transaction of the writers.
 * @throws ToolError (unauthenticated) where the token was used before or nobody may sign in with its e-mail
 */
export async function openSession(
  store: HistoryWriters,
  identity: VerifiedIdentity,
  { now, client }: { readonly now: Date; readonly client: string | undefined },
): Promise<OpenedSession> {
  await useToken(store, identity);
  const user = await mayUserSignIn(store, identity.email);
  if (!user) throw refuseSignIn('no active admin user who may sign in has the e-mail of the ID token');
  const session = await store.sessions.insert({
    userId: user.id,
    email: user.email,
    ...(client !== undefined && { client: client.slice(0, 200) }),
    expiresAt: new Date(now.getTime() + SESSION_MS).toISOString(),
  });
  return {
    user: await store.adminUsers.touch(user.id, { lastSignInAt: now.toISOString() }),
    principal: principalOf(session, user),
  };
}

/** @throws ToolError (unauthenticated) where the token was used before */
export async function useToken(
  { usedTokens }: Pick<HistoryWriters, 'usedTokens'>,
  { issuer, jti, expiresAt }: VerifiedIdentity,
): Promise<void> {
  if (jti === undefined) throw refuseSignIn('the ID token has no jti');
  const key = createHash('sha256')
    .update(JSON.stringify([issuer, jti]))
    .digest('base64url');
  const { records } = await usedTokens.find({ where: { key }, limit: 1 });
  if (records.length > 0) throw refuseSignIn('the ID token was used before');
  const forgetAt = expiresAt.getTime() + 2 * CLOCK_SKEW_SECONDS * 1000;
  await usedTokens.insert({ key, expiresAt: new Date(forgetAt).toISOString() });
}

/** The principal of a session, or undefined where it is over: ended, expired, or its user deactivated. */
export async function authenticateSession(
  store: Pick<Readers, 'sessions' | 'adminUsers'>,
  id: string,
  now: Date,
): Promise<SessionPrincipal | undefined> {
  const session = await store.sessions.get(id);
  if (!session || Date.parse(session.expiresAt) <= now.getTime()) return undefined;
  const user = await store.adminUsers.get(session.userId);
  return user?.isActive ? principalOf(session, user) : undefined;
}

/** Ends all sessions of the user. */
export async function endSessionsOf({ sessions }: Pick<HistoryWriters, 'sessions'>, userId: string): Promise<void> {
  for (;;) {
    const { records } = await sessions.find({ where: { userId }, limit: 100 });
    for (const { id } of records) await sessions.delete(id);
    if (records.length === 0) return;
  }
}

function principalOf({ id: sessionId, expiresAt }: SessionRecord, { id, email }: AdminUser): SessionPrincipal {
  return { type: 'session', id, name: email, scopes: SCOPES, ownerId: id, rights: RIGHTS, sessionId, expiresAt };
}
