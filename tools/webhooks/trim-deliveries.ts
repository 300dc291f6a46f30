import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import type { Readers, Store } from '../../store/port.ts';
import { allOf } from '../core/registry/paging.ts';
import { OWN_EVENTS } from './delivery-refusal.ts';

/** So many events wait for one webhook at most. Further ones are left out until fewer wait than `ROOM`. */
export const MOST_WAITING = 10_000;
export const ROOM = 9000;
/** Deliveries that ended are kept for this long, and so many of each webhook. */
export const KEPT_MS = 7 * 24 * 60 * 60 * 1000;
export const MOST_KEPT = 2000;
const BATCH = 200;
const ENDED = ['delivered', 'failed', 'withheld'] as const;

/** Has events left out where too many wait, and tells the receiver when that is over. */
export async function trimWaiting(store: Store, { id }: WebhookRecord, waiting: number, now: Date): Promise<void> {
  const webhook = await store.webhooks.get(id);
  const since = webhook?.leavesOutSince;
  const begins = since === undefined && waiting >= MOST_WAITING;
  const ends = since !== undefined && waiting < ROOM;
  if (!begins && !ends) return;
  const at = now.toISOString();
  await store.transaction(async (tx) => {
    if ((await tx.webhooks.get(id))?.leavesOutSince !== since) return;
    await tx.webhooks.update(id, { leavesOutSince: begins ? at : null });
    if (!ends) return;
    const event = { type: OWN_EVENTS.gap, id, at: since };
    await tx.webhookDeliveries.insert({ webhookId: id, event, status: 'waiting', attempts: 0, nextAt: at });
  });
}

export async function deleteOldDeliveries(store: Store, now: Date): Promise<void> {
  const before = new Date(now.getTime() - KEPT_MS).toISOString();
  const webhooks = await allOf(store.webhooks, {});
  for (const { id, enabled } of webhooks) {
    const status = enabled ? ENDED : undefined; // events of a disabled webhook do not wait forever
    await deleteAll(store, (limit) =>
      oldest(store, { where: { webhookId: id, ...(status && { status }) }, to: before, limit }),
    );
    const where = { webhookId: id, status: ENDED };
    const excess = async () => (await store.webhookDeliveries.count({ where })) - MOST_KEPT;
    for (let over = await excess(); over > 0; over = await excess()) {
      await deleteThese(store, await oldest(store, { where, limit: Math.min(over, BATCH) }));
    }
  }
  const known = new Set(webhooks.map(({ id }) => id));
  const first = await oldest(store, { limit: BATCH });
  await deleteThese(
    store,
    first.filter(({ webhookId }) => !known.has(webhookId)),
  );
}

type Query = Omit<Parameters<Readers['webhookDeliveries']['find']>[0], 'order'>;

async function oldest({ webhookDeliveries }: Pick<Readers, 'webhookDeliveries'>, query: Query) {
  return (await webhookDeliveries.find({ ...query, order: 'oldest' })).records;
}

async function deleteAll(
  store: Store,
  next: (limit: number) => Promise<readonly WebhookDeliveryRecord[]>,
): Promise<void> {
  for (let found = await next(BATCH); found.length > 0; found = await next(BATCH)) await deleteThese(store, found);
}

async function deleteThese(store: Store, deliveries: readonly WebhookDeliveryRecord[]): Promise<void> {
  if (deliveries.length === 0) return;
  await store.transaction(async (tx) => {
    for (const { id } of deliveries) if (await tx.webhookDeliveries.get(id)) await tx.webhookDeliveries.delete(id);
  });
}
