import type { WebhookDeliveryRecord, WebhookEvent, WebhookRecord } from '../../resources/webhook.ts';
import type { Readers } from '../../store/port.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import type { RecordKind } from '../core/kind.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import { maySee, type ReadNeed } from '../flows/event-types.ts';
import { ALERT_RIGHTS } from './alerts.ts';

interface RefusalDeps {
  readonly store: Readers & { readonly credentials?: Readers };
  readonly catalog: Catalog;
  readonly kinds: readonly RecordKind[];
  now(): Date;
}

/** Why the owner of the webhook may not hear of the event now. Undefined if it may. */
export async function deliveryRefusal(
  { owner }: Pick<WebhookRecord, 'owner'>,
  { event, facts = {} }: Pick<WebhookDeliveryRecord, 'event' | 'facts'>,
  { store, catalog, kinds, now }: RefusalDeps,
): Promise<string | undefined> {
  const principal = await credentialStatus(owner, store.credentials ?? store, { catalog, now: now() });
  if (typeof principal === 'string') return `The webhook acts for somebody who is gone. ${principal}`;
  if (isOwn(event.type)) return undefined;
  const need = await needOf({ event, facts }, { store, kinds });
  if (!need) return `This server no longer has events of the type ${event.type}.`;
  const { ids: _, ...known } = facts;
  if (await maySee({ need, record: { id: event.id, ...known } }, principal, { store, catalog, kinds }))
    return undefined;
  return `${owner.name} may not read what it is about.`;
}

/** What a webhook says of itself: `test`, and `gap` where events were left out. */
export const OWN_EVENTS = { test: 'webhook.test', gap: 'webhook.gap' } as const;

function isOwn(type: string): boolean {
  return type === OWN_EVENTS.test || type === OWN_EVENTS.gap;
}

/** The delivery with what its kind of record tells receivers. */
export async function told<Given extends Pick<WebhookDeliveryRecord, 'event'>>(
  delivery: Given,
  { store, kinds, baseUrl }: Pick<RefusalDeps, 'store' | 'kinds'> & { readonly baseUrl: string },
): Promise<Given & { readonly event: WebhookEvent }> {
  const { event } = delivery;
  const kind = kindOf(event.type, kinds);
  const record = kind?.event?.tells && (await store[kind.collection].get(event.id));
  // The record is of the kind's own collection.
  return record
    ? { ...delivery, event: { ...event, ...kind?.event?.tells?.(record as never, { baseUrl }) } }
    : delivery;
}

function kindOf(type: string, kinds: readonly RecordKind[]): RecordKind | undefined {
  const name = type.slice(0, type.lastIndexOf('.'));
  return kinds.find(({ event }) => event?.name === name);
}

async function needOf(
  { event: { type, id }, facts }: Pick<WebhookDeliveryRecord, 'event' | 'facts'>,
  { store, kinds }: Pick<RefusalDeps, 'store' | 'kinds'>,
): Promise<ReadNeed | undefined> {
  const ids = facts?.ids ?? [id];
  const rights = Object.entries(ALERT_RIGHTS).find(([alert]) => alert === type)?.[1];
  if (rights) return { ...rights, ids };
  const kind = kindOf(type, kinds);
  if (!kind) return undefined;
  const { scope, resource } = kind;
  const { names } = await subjectsIn(store, kinds)(resource, id);
  return { scope, resource, ids: [...new Set([...ids, ...names])] };
}
