import type { AlertRecord, AlertType, WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import type { NewRecord, RecordChange, Store, Writers } from '../../store/port.ts';
import { allOf } from '../core/registry/paging.ts';

interface Alert {
  readonly type: AlertType;
  /** Of the record that it is about. */
  readonly id: string;
  readonly revision?: number | undefined;
  /** What was found, where no record says it. */
  readonly detail?: string;
  /** By which grants name that record, where it is not `id`. */
  readonly ids?: readonly string[];
}

/** The right to read what an alert is about, which the owner of a webhook needs to hear of it. */
export const ALERT_RIGHTS: Readonly<Record<AlertType, { readonly scope: string; readonly resource: string }>> = {
  'approval.requested': { scope: 'approvals:read', resource: 'approval' },
  'flow.failed': { scope: 'flows:read', resource: 'flow' },
  'integration.waiting': { scope: 'admin', resource: 'integration' },
  'integration.away': { scope: 'admin', resource: 'integration' },
  'key.expiring': { scope: 'admin', resource: 'key' },
  'capsule.expiring': { scope: 'admin', resource: 'capsule' },
  'budget.warned': { scope: 'admin', resource: 'budget' },
  'budget.reached': { scope: 'admin', resource: 'budget' },
  'backup.old': { scope: 'admin', resource: 'backup' },
  'store.not_writable': { scope: 'agents:read', resource: 'system' },
  'storage.nearly_full': { scope: 'admin', resource: 'system' },
  'clock.wrong': { scope: 'agents:read', resource: 'system' },
  'webhook.failed': { scope: 'admin', resource: 'webhook' },
};

type AlertWriters = Pick<Writers, 'webhooks' | 'webhookDeliveries'>;

export const MOST_WEBHOOKS = 20;

/** Notifies every webhook that subscribed to the alert, if and only if the transaction commits. */
export async function raiseAlert(store: AlertWriters, alert: Alert, now: Date): Promise<void> {
  const { records } = await store.webhooks.find({ where: { enabled: true }, limit: MOST_WEBHOOKS });
  for (const webhook of records) {
    const { alerts, events, leavesOutSince } = webhook;
    // An event of the same name is noted with the change itself.
    if (!alerts.includes(alert.type) || events.includes(alert.type) || leavesOutSince !== undefined) continue;
    await store.webhookDeliveries.insert(alertDelivery(webhook, alert, now));
  }
}

export function alertDelivery(
  { id: webhookId }: Pick<WebhookRecord, 'id'>,
  { type, id, revision, detail, ids }: Alert,
  now: Date,
): NewRecord<WebhookDeliveryRecord> {
  const at = now.toISOString();
  return {
    webhookId,
    event: { type, id, ...(revision !== undefined && { revision }), ...(detail !== undefined && { detail }), at },
    status: 'waiting',
    attempts: 0,
    nextAt: at,
    ...(ids && { facts: { ids: [...ids] } }),
  };
}

export function alertOf({ kind, collection, record }: RecordChange): Alert | undefined {
  if (collection === 'approvals' && kind === 'created') {
    return { type: 'approval.requested', id: record.id, revision: record.revision };
  }
  if (collection !== 'flowRuns' || kind !== 'updated' || record.status !== 'failed') return undefined;
  return { type: 'flow.failed', id: record.id, revision: record.revision, ids: [record.flowId] };
}

/** Where alerts about what goes on for a while come from. */
export interface AlertSource {
  readonly name: string;
  /** All that continues now. */
  look(now: Date): Promise<readonly Ongoing[]>;
}

export interface Ongoing extends Alert {
  /** Tells apart what comes again: it is told anew where this differs. */
  readonly occasion?: string;
}

/** Tells once of what continues, also after a restart, and anew when it comes again. */
export async function lookForAlerts(store: Store, source: AlertSource, now: Date): Promise<void> {
  const ongoing = new Map((await source.look(now)).map((alert) => [keyOf(alert), alert]));
  const known = await allOf(store.alerts, { where: { source: source.name } });
  const over = known.filter(({ key }) => !ongoing.has(key));
  for (const { key } of known) ongoing.delete(key);
  if (over.length === 0 && ongoing.size === 0) return;
  await store.transaction(async (tx) => {
    for (const { id } of over) if (await tx.alerts.get(id)) await tx.alerts.delete(id);
    for (const [key, alert] of ongoing) {
      if (await tx.alerts.first({ where: { key } })) continue; // another process was faster
      await tx.alerts.insert({ key, source: source.name } satisfies Partial<AlertRecord>);
      await raiseAlert(tx, alert, now);
    }
  });
}

function keyOf({ type, id, occasion = '' }: Ongoing): string {
  return `${type} ${id} ${occasion}`;
}
