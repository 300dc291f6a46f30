import type { WebhookDeliveryRecord, WebhookEvent, WebhookRecord } from '../../resources/webhook.ts';
import type { Readers } from '../../store/port.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { shownPayload } from '../core/history/history.ts';
import { isVersioned, type RecordKind } from '../core/kind.ts';
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

/** In characters of JSON, of all fields of an event. */
const LONGEST_FIELDS = 64_000;

/** The members that the webhook asks for, as versions show them, so never a secret. Its owner was just found to be allowed to read the record. */
async function fieldsOf(
  { fields: names = [] }: Pick<WebhookRecord, 'fields'>,
  event: WebhookEvent,
  { store, kinds }: Pick<RefusalDeps, 'store' | 'kinds'>,
): Promise<Pick<WebhookEvent, 'record'>> {
  const kind = kindOf(event.type, kinds);
  if (names.length === 0 || !kind || !isVersioned(kind)) return {};
  const found = await store[kind.collection].get(event.id);
  if (!found || event.type.endsWith('.deleted')) return {};
  // The record is of the kind's own collection.
  const payload = await shownPayload(kind.history, kind.history.payload(found as never), store);
  const fields = Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(payload, name) ? [[name, payload[name]]] : [])),
  );
  const { revision } = found as { readonly revision?: number };
  const is = revision === undefined ? {} : { revision };
  if (JSON.stringify(fields).length > LONGEST_FIELDS) return { record: { ...is, left: 'too_large' } };
  return { record: { ...is, fields } };
}

/** The delivery with what its kind of record tells receivers, and with the fields that the webhook asks for. */
export async function told<Given extends Pick<WebhookDeliveryRecord, 'event'>>(
  webhook: Pick<WebhookRecord, 'fields'>,
  delivery: Given,
  { store, kinds, baseUrl }: Pick<RefusalDeps, 'store' | 'kinds'> & { readonly baseUrl: string },
): Promise<Given & { readonly event: WebhookEvent }> {
  const event = { ...delivery.event, ...(await fieldsOf(webhook, delivery.event, { store, kinds })) };
  const kind = kindOf(event.type, kinds);
  const record = kind?.event?.tells && (await store[kind.collection].get(event.id));
  // The record is of the kind's own collection.
  return record
    ? { ...delivery, event: { ...event, ...kind?.event?.tells?.(record as never, { baseUrl }) } }
    : { ...delivery, event };
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
