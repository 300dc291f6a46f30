import { DAY_MS } from '../../resources/durations.ts';
import type { OAuthClientRecord } from '../../resources/oauth-client.ts';
import { pagesOf } from '../../store/pages.ts';
import type { Store } from '../../store/port.ts';
import { deleteStates } from './states.ts';

/** How long a client is kept that nobody has connected. */
export const UNUSED_MS = 7 * DAY_MS;
/** How long a client is kept that was connected and is not any more: hosts remember their registration and ask again under it. */
export const LAPSED_MS = 180 * DAY_MS;
/** The most clients of one kind that were never used. Above it, the oldest of the network that has the most go first. */
export const MOST_UNUSED = 1000;

/** Removes clients that nobody uses and no administrator made. */
export async function removeUnusedClients(store: Store, now: Date): Promise<void> {
  for (const client of await clientsOf(store, ['registered', 'metadata'])) {
    const since = now.getTime() - Date.parse(client.lastUsedAt ?? client.createdAt);
    if (since < (client.lastUsedAt === undefined ? UNUSED_MS : LAPSED_MS)) continue;
    if ((await store.connectedApps.count({ where: { clientId: client.clientId } })) > 0) continue;
    await remove(store, client.id);
  }
}

/** Makes room for one more client of a kind that anybody can add. */
export async function makeRoom(store: Store, kind: 'registered' | 'metadata', most = MOST_UNUSED): Promise<void> {
  if ((await store.oauthClients.count({ where: { kind } })) < most) return;
  const unused = (await clientsOf(store, [kind])).filter(({ lastUsedAt }) => lastUsedAt === undefined);
  const byNetwork = new Map<string, OAuthClientRecord[]>();
  for (const client of unused) {
    const network = client.networkHash ?? '';
    const others = byNetwork.get(network);
    if (others) others.push(client);
    else byNetwork.set(network, [client]);
  }
  for (let over = unused.length - most + 1; over > 0; over -= 1) {
    const largest = [...byNetwork.values()].reduce((one, other) => (other.length > one.length ? other : one));
    const oldest = largest.shift();
    if (oldest) await remove(store, oldest.id);
  }
}

/** Oldest first. */
async function clientsOf(store: Store, kind: readonly OAuthClientRecord['kind'][]): Promise<OAuthClientRecord[]> {
  const found: OAuthClientRecord[] = [];
  const query = { where: { kind }, order: 'oldest', limit: 500 } as const;
  for await (const page of pagesOf(store.oauthClients, query)) found.push(...page);
  return found;
}

async function remove(store: Store, id: string): Promise<void> {
  await store.transaction(async ({ oauthClients }) => {
    if (await oauthClients.get(id)) await oauthClients.delete(id);
  });
}

/** From agreeing to the first token, a client has a minute. */
const SETTLED_MS = 60 * 60 * 1000;

/** Removes the tokens of ended connections, and connections whose client never came for a token or let the last one expire. */
export async function removeEndedConnections(store: Store, now: Date): Promise<void> {
  const settled = new Date(now.getTime() - SETTLED_MS).toISOString();
  const page = { order: 'oldest', limit: 100 } as const;
  for await (const apps of pagesOf(store.connectedApps, { to: settled, ...page }))
    for (const { id } of apps) await removeUnused(store, id);
  for await (const grants of pagesOf(store.oauthStates, { where: { kind: 'Grant' }, ...page }))
    for (const { grantId } of grants) if (grantId !== undefined) await removeLeftStates(store, grantId);
}

async function removeUnused(store: Store, id: string): Promise<void> {
  // A grant alone leads to nothing.
  const where = { grantId: id, kind: ['AuthorizationCode', 'RefreshToken', 'AccessToken'] };
  if ((await store.oauthStates.count({ where })) > 0) return;
  await store.transaction(async (tx) => {
    if (await tx.connectedApps.get(id)) await tx.connectedApps.delete(id);
  });
}

async function removeLeftStates(store: Store, grantId: string): Promise<void> {
  if (await store.connectedApps.get(grantId)) return;
  await store.transaction((tx) => deleteStates(tx, { grantId }));
}
