import type { AdminUser } from '../../../resources/admin-user.ts';
import type { ApiKeyRecord } from '../../../resources/api-key.ts';
import type { Readers, Store } from '../../../store/port.ts';
import { oncePer } from '../once-per.ts';
import { madeBy } from './budgets.ts';
import { grantsOf } from './grants.ts';
import { prefixOf, secretMatches } from './key-secret.ts';
import { isSession, type Principal, withinOwner } from './principal.ts';
import { callerRights, scopeRights } from './rights.ts';

const USE_NOTED_EVERY_MS = 60_000;
const MOST_NOTED = 100_000;

/** The key that belongs to the secret that was shown. If that secret has been replaced, `until` is when it stops working. */
export interface PresentedKey {
  readonly key: ApiKeyRecord;
  readonly until: string | undefined;
}

/** The key with this secret, whether or not it still works. */
export async function findKey(
  { apiKeys }: Pick<Readers, 'apiKeys'>,
  secret: string,
): Promise<PresentedKey | undefined> {
  const prefix = prefixOf('key', secret);
  if (prefix === undefined) return undefined;
  const key = await apiKeys.first({ where: { prefix } });
  if (key && secretMatches(secret, key.hash)) return { key, until: undefined };
  const { records } = await apiKeys.find({ where: { replacedPrefixes: prefix }, limit: 10 });
  for (const rotated of records) {
    const replaced = rotated.replaced?.find(({ hash }) => secretMatches(secret, hash));
    if (replaced) return { key: rotated, until: replaced.until };
  }
  return undefined;
}

/** The principal of an API key. Undefined if the secret opens nothing, or no longer does. */
export async function keyPrincipal(
  store: KeyReaders,
  { key, until }: PresentedKey,
  now: Date,
): Promise<Principal | undefined> {
  if (until !== undefined && Date.parse(until) <= now.getTime()) return undefined;
  const owner = await store.adminUsers.get(key.ownerId);
  if (ownProblem(key, owner, now) !== undefined) return undefined;
  if (key.endsWith !== undefined && (await makerProblem(store, key.endsWith, now)) !== undefined) return undefined;
  return principalOf(key, owner);
}

/** The collections that show whether a key still works. */
export type KeyReaders = Pick<Readers, 'apiKeys' | 'adminUsers'>;

/** Why the key no longer works, or undefined if it does. */
export async function keyProblem(store: KeyReaders, key: ApiKeyRecord, now: Date): Promise<string | undefined> {
  const problem = ownProblem(key, await store.adminUsers.get(key.ownerId), now);
  return problem ?? (key.endsWith === undefined ? undefined : makerProblem(store, key.endsWith, now));
}

function ownProblem(key: ApiKeyRecord, owner: AdminUser | undefined, now: Date): string | undefined {
  const { revokedAt, expiresAt, ownerId } = key;
  if (revokedAt !== undefined) return `The key was revoked at ${revokedAt}; make a new one with create_api_key.`;
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()) return `The key expired at ${expiresAt}.`;
  return owner?.isActive ? undefined : `The owner of the key, ${ownerId}, is deactivated; see reactivate_admin_user.`;
}

/** Why a key no longer works that was made with the one of this id, or with one made with that. */
async function makerProblem(store: KeyReaders, id: string, now: Date): Promise<string | undefined> {
  const maker = await store.apiKeys.get(id);
  if (!maker) return 'The key with which the key was made is gone.';
  const problem = ownProblem(maker, await store.adminUsers.get(maker.ownerId), now);
  if (problem !== undefined) return `The key ended with ${id}, with which it was made. ${problem}`;
  return maker.endsWith === undefined ? undefined : makerProblem(store, maker.endsWith, now);
}

export function keyReference(key: ApiKeyRecord): NonNullable<Principal['madeWith']> {
  return { id: key.id, expiresAt: key.expiresAt, budgetSubjects: madeBy(key) };
}

/** What the key may do, and the person it acts for. */
export function principalOf(key: ApiKeyRecord, owner: AdminUser | undefined): Principal {
  return withinOwner(ownPrincipal(key), owner);
}

/** Made once for each state of the key: records never change. */
const ownPrincipal = oncePer((key: ApiKeyRecord): Principal => {
  const grants = key.grants && grantsOf(key);
  return {
    type: 'api-key',
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    ...(grants && { grants }),
    ownerId: key.ownerId,
    budgetSubjects: madeBy(key),
    ...(key.askFirst?.length && { askFirst: key.askFirst }),
    ...(key.expiresAt !== undefined && { expiresAt: key.expiresAt }),
    rights: grants ? callerRights(key.id, grants) : scopeRights(key.scopes),
  };
});

/** Writes `lastUsedAt` of keys, sessions and connected apps, at most once a minute, without delaying the call that used them. */
export function createUseRecorder(store: Store, onFailure: (cause: unknown) => void) {
  const noted = new Map<string, number>();
  return function noteUse(principal: Principal, now: Date): void {
    const id = isSession(principal) ? principal.sessionId : principal.id;
    const last = noted.get(id);
    if (last !== undefined && now.getTime() - last < USE_NOTED_EVERY_MS) return;
    if (noted.size >= MOST_NOTED) noted.clear();
    noted.set(id, now.getTime());
    const lastUsedAt = now.toISOString();
    store
      .transaction(async (tx) => {
        const used = isSession(principal) ? tx.sessions : principal.type === 'app' ? tx.connectedApps : tx.apiKeys;
        // The session or connection may have ended in the meantime.
        if (await used.get(id)) await used.touch(id, { lastUsedAt });
      })
      .catch(onFailure);
  };
}
