import { createHash } from 'node:crypto';
import type { AdminUser } from '../../resources/admin-user.ts';
import type { ApiKeyRecord } from '../../resources/api-key.ts';
import type { SessionRecord } from '../../resources/session.ts';
import type { SignInLinkRecord } from '../../resources/sign-in.ts';
import type { Readers } from '../../store/port.ts';
import { freshUntil } from '../core/access/fresh-sign-in.ts';
import { type KeyReaders, keyProblem, keyReference } from '../core/access/key-principal.ts';
import type { SessionPrincipal } from '../core/access/principal.ts';
import { personPrincipal } from '../core/access/principal.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { readSettings } from '../settings/settings.ts';
import { CLOCK_SKEW_SECONDS, refuseSignIn, type VerifiedIdentity } from './id-token.ts';

/** A session ends this long after it began, whether or not it is used. */
export const SESSION_MS = 12 * 60 * 60 * 1000;

/** The active admin user with this e-mail, if that user may sign in. */
export async function mayUserSignIn(
  store: Pick<Readers, 'adminUsers' | 'settings'>,
  email: string,
): Promise<AdminUser | undefined> {
  const { signInDomains } = await readSettings(store);
  const user = await store.adminUsers.first({ where: { email: email.toLowerCase() } });
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (signInDomains.length > 0 && !signInDomains.includes(domain)) return undefined;
  return user?.isActive ? user : undefined;
}

interface OpenedSession {
  readonly user: AdminUser;
  readonly principal: SessionPrincipal;
}

/** Begins a session and marks the token as used. @throws ToolError (unauthenticated) if the token or its link ended, or nobody may sign in */
export async function openSession(
  store: HistoryWriters,
  identity: VerifiedIdentity,
  { now, client }: { readonly now: Date; readonly client: string | undefined },
): Promise<OpenedSession> {
  await useToken(store, identity);
  const user = await mayUserSignIn(store, identity.email);
  if (!user) throw refuseSignIn('no active admin user who may sign in has the e-mail of the ID token');
  const link = await linkOf(store, identity, user);
  const key = link && (await keyOfLink(store, link, now));
  const session = await store.sessions.insert({
    userId: user.id,
    email: user.email,
    ...(client !== undefined && { client: client.slice(0, 200) }),
    ...(link?.makerId !== undefined && { makerId: link.makerId }),
    ...(key && { keyId: key.id }),
    confirmedAt: now.toISOString(),
    expiresAt: earlier(new Date(now.getTime() + SESSION_MS).toISOString(), key?.expiresAt),
  });
  return {
    user: await store.adminUsers.touch(user.id, { lastSignInAt: now.toISOString() }),
    principal: principalOf(session, { user, key, now }),
  };
}

/** The link of the token. A token of a provider has none. @throws ToolError (unauthenticated) if the link has ended */
async function linkOf(
  { signInLinks }: Pick<Readers, 'signInLinks'>,
  { link: id }: VerifiedIdentity,
  user: AdminUser,
): Promise<SignInLinkRecord | undefined> {
  if (id === undefined) return undefined;
  const link = await signInLinks.get(id);
  if (link?.userId !== user.id) throw refuseSignIn('the link behind the ID token has ended');
  return link;
}

/** The key that made the link. @throws ToolError (unauthenticated) if the key no longer works */
async function keyOfLink(store: KeyReaders, { keyId }: SignInLinkRecord, now: Date): Promise<ApiKeyRecord | undefined> {
  if (keyId === undefined) return undefined;
  const key = await liveKey(store, keyId, now);
  if (!key) throw refuseSignIn('the key that made the link behind the ID token has ended');
  return key;
}

async function liveKey(store: KeyReaders, id: string, now: Date): Promise<ApiKeyRecord | undefined> {
  const key = await store.apiKeys.get(id);
  return key && (await keyProblem(store, key, now)) === undefined ? key : undefined;
}

export function earlier(time: string, other: string | undefined): string {
  return other !== undefined && other < time ? other : time;
}

/** @throws ToolError (unauthenticated) if the token was used before */
export async function useToken(
  { usedTokens }: Pick<HistoryWriters, 'usedTokens'>,
  { issuer, jti, expiresAt }: Pick<VerifiedIdentity, 'issuer' | 'jti' | 'expiresAt'>,
): Promise<void> {
  if (jti === undefined) throw refuseSignIn('the ID token has no jti');
  const key = createHash('sha256')
    .update(JSON.stringify([issuer, jti]))
    .digest('base64url');
  if (await usedTokens.first({ where: { key } })) throw refuseSignIn('the ID token was used before');
  const forgetAt = expiresAt.getTime() + 2 * CLOCK_SKEW_SECONDS * 1000;
  await usedTokens.insert({ key, expiresAt: new Date(forgetAt).toISOString() });
}

/** The principal of a session. Undefined if the session has ended or expired, or its user or the key behind it no longer works. */
export async function authenticateSession(
  store: KeyReaders & Pick<Readers, 'sessions'>,
  id: string,
  now: Date,
): Promise<SessionPrincipal | undefined> {
  const session = await store.sessions.get(id);
  if (!session || Date.parse(session.expiresAt) <= now.getTime()) return undefined;
  const user = await store.adminUsers.get(session.userId);
  if (!user?.isActive) return undefined;
  if (session.keyId === undefined) return principalOf(session, { user, now });
  const key = await liveKey(store, session.keyId, now);
  return key && principalOf(session, { user, key, now });
}

/** The person of the session confirmed it by a token that no link made. @throws ToolError (unauthenticated) if the token is used or another's */
export async function confirmSession(
  store: HistoryWriters,
  identity: VerifiedIdentity,
  { sessionId, ownerId, now }: Pick<SessionPrincipal, 'sessionId' | 'ownerId'> & { readonly now: Date },
): Promise<SessionPrincipal> {
  await useToken(store, identity);
  const user = await mayUserSignIn(store, identity.email);
  if (user?.id !== ownerId || identity.link !== undefined) throw refuseSignIn('the ID token is not for this session');
  await store.sessions.touch(sessionId, { confirmedAt: now.toISOString() });
  const confirmed = await authenticateSession(store, sessionId, now);
  if (!confirmed) throw refuseSignIn('the session has ended');
  return confirmed;
}

interface Behind {
  readonly user: AdminUser;
  readonly key?: ApiKeyRecord | undefined;
  readonly now: Date;
}

function principalOf({ id: sessionId, ...session }: SessionRecord, { user, key, now }: Behind): SessionPrincipal {
  const { expiresAt, createdAt, confirmedAt = createdAt } = session;
  const until = freshUntil(confirmedAt, now);
  return {
    ...personPrincipal(user),
    sessionId,
    expiresAt,
    ...(until !== undefined && { freshUntil: until }),
    ...(key && { madeWith: keyReference(key) }),
  };
}
