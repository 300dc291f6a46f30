import type { ApiKeyRecord } from '../../resources/api-key.ts';
import type { Page, Where, Writer } from '../../store/port.ts';
import type { HistoryWriters } from '../versions/writers.ts';

/** Ends all sessions of the user, the links that the user made for others, and the sessions that those links began. */
export async function endSessionsOf({ sessions, signInLinks }: SignInWriters, userId: string): Promise<void> {
  await deleteAll(sessions, { userId });
  await deleteAll(sessions, { makerId: userId });
  await deleteAll(signInLinks, { makerId: userId });
}

/** Ends all sessions of the user, and all links and ID tokens that could begin one. */
export async function endSignInsOf(store: SignInWriters, userId: string): Promise<void> {
  await deleteAll(store.sessions, { userId });
  await deleteAll(store.signInLinks, { userId });
}

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
    let page: Page<ApiKeyRecord> | undefined;
    do {
      page = await store.apiKeys.find({ where: { endsWith: id }, limit: 100, after: page?.next ?? undefined });
      for (const made of page.records) {
        ending.push(made.id);
        if (made.revokedAt === undefined) await store.apiKeys.update(made.id, { revokedAt });
      }
    } while (page.next);
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
