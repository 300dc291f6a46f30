import type { Page, Query, Store } from '../../store/port.ts';
import { deleteStates } from './states.ts';

/** From agreeing to the first token, a client has a minute. */
const SETTLED_MS = 60 * 60 * 1000;

/**
 * Removes the tokens of connections that ended, and connections without any token: their client did not come for it, or did not use it for
 * so long that the last one expired.
 */
export async function removeEndedConnections(store: Store, now: Date): Promise<void> {
  const settled = new Date(now.getTime() - SETTLED_MS).toISOString();
  await forEach(
    (page) => store.connectedApps.find({ to: settled, ...page }),
    async ({ id }) => {
      // A grant alone leads to nothing.
      const where = { grantId: id, kind: ['AuthorizationCode', 'RefreshToken', 'AccessToken'] };
      if ((await store.oauthStates.count({ where })) > 0) return;
      await store.transaction(async (tx) => {
        if (await tx.connectedApps.get(id)) await tx.connectedApps.delete(id);
      });
    },
  );
  await forEach(
    (page) => store.oauthStates.find({ where: { kind: 'Grant' }, ...page }),
    async ({ grantId }) => {
      if (grantId === undefined || (await store.connectedApps.get(grantId))) return;
      await store.transaction((tx) => deleteStates(tx, { grantId }));
    },
  );
}

type Part = Pick<Query<object>, 'order' | 'limit' | 'after'>;

async function forEach<Record>(find: (page: Part) => Promise<Page<Record>>, act: (record: Record) => Promise<void>) {
  let page: Page<Record> | undefined;
  do {
    page = await find({ order: 'oldest', limit: 100, after: page?.next ?? undefined });
    for (const record of page.records) await act(record);
  } while (page.next);
}
