import type { ApiKeyRecord } from '../../../resources/api-key.ts';
import type { CapsuleRecord } from '../../../resources/capsule.ts';
import type { ConnectedAppRecord } from '../../../resources/connected-app.ts';
import { pagesOf } from '../../../store/pages.ts';
import type { Where, Writer } from '../../../store/port.ts';
import type { HistoryWriters } from '../history-writers.ts';

/** Ends all sessions of the user, the links that the user made for others, and the sessions that those links began. */
export async function endSessionsOf({ sessions, signInLinks }: SignInWriters, userId: string): Promise<void> {
  await deleteAll(sessions, { userId });
  await deleteAll(sessions, { makerId: userId });
  await deleteAll(signInLinks, { makerId: userId });
}

/** Ends all sessions of the user, all links and ID tokens that could begin one, and all apps that the user let in. */
export async function endSignInsOf(store: SignInWriters & AppWriters, userId: string): Promise<void> {
  await disconnectApps(store, { userId });
  await deleteAll(store.sessions, { userId });
  await deleteAll(store.signInLinks, { userId });
}

/** Removes the passkeys of the user: nobody signs in with them any more. */
export function endPasskeysOf({ passkeys }: Pick<HistoryWriters, 'passkeys'>, userId: string): Promise<void> {
  return deleteAll(passkeys, { userId });
}

export function disconnectApps({ connectedApps }: AppWriters, where: Where<ConnectedAppRecord>): Promise<void> {
  return deleteAll(connectedApps, where);
}

/** After a capsule got other tokens: ends the apps that were connected by tokens it has no more. */
export async function disconnectAppsByToken(
  { connectedApps }: AppWriters,
  { id, tokenPrefixes }: Pick<CapsuleRecord, 'id' | 'tokenPrefixes'>,
): Promise<void> {
  for await (const apps of pagesOf(connectedApps, { where: { capsuleId: id }, limit: 100 })) {
    for (const app of apps) {
      if (app.tokenPrefix !== undefined && !tokenPrefixes.includes(app.tokenPrefix)) await connectedApps.delete(app.id);
    }
  }
}

type AppWriters = Pick<HistoryWriters, 'connectedApps'>;
type SignInWriters = Pick<HistoryWriters, 'sessions' | 'signInLinks'>;

/** Ends what depends on the key: its links, the sessions that they began, and, if the key expires, the keys made with it. */
export async function endMadeWith(
  store: SignInWriters & Pick<HistoryWriters, 'apiKeys'>,
  key: ApiKeyRecord,
  revokedAt: string,
): Promise<void> {
  const ending = [key.id];
  for (const id of ending) {
    await deleteAll(store.sessions, { keyId: id });
    await deleteAll(store.signInLinks, { keyId: id });
    for await (const keys of pagesOf(store.apiKeys, { where: { endsWith: id }, limit: 100 })) {
      for (const made of keys) {
        ending.push(made.id);
        if (made.revokedAt === undefined) await store.apiKeys.update(made.id, { revokedAt });
      }
    }
  }
}

async function deleteAll<Record extends { readonly id: string }>(
  records: Pick<Writer<Record>, 'find' | 'delete'>,
  where: Where<Record>,
): Promise<void> {
  for (;;) {
    const page = await records.find({ where, limit: 100 });
    for (const { id } of page.records) await records.delete(id);
    if (page.records.length === 0) return;
  }
}
