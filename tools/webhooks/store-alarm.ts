import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import { newId } from '../../store/ids.ts';
import type { Store } from '../../store/port.ts';
import { alertDelivery } from './alerts.ts';
import type { Attempt } from './attempt.ts';

interface StoreAlarmParts {
  readonly store: Store;
  /** Those that are enabled, as they were known last. */
  webhooks(): Iterable<WebhookRecord>;
  mayHear(webhook: WebhookRecord, delivery: Delivery): Promise<boolean>;
  attempt(webhook: WebhookRecord, delivery: Delivery): Promise<Attempt>;
  now(): Date;
}

type Delivery = Pick<WebhookDeliveryRecord, 'id' | 'event'>;
type ToldDelivery = Delivery & { readonly webhookId: string; attempts: number; deliveredAt?: string };

const STORE = 'store';

/** Tells that the store takes no writes. Each process sends it from what it knows, and stores the delivery when the store works again. */
export class StoreAlarm {
  readonly #parts: StoreAlarmParts;
  #wasDown = false;
  readonly #told = new Map<string, ToldDelivery>();
  /** Webhooks whose owners could read the state of the store when it worked last. */
  #allowed: readonly WebhookRecord[] = [];

  constructor(parts: StoreAlarmParts) {
    this.#parts = parts;
  }

  /** Looks now. A store that refuses writes in two looks in a row is told of. */
  async look(): Promise<void> {
    const isDown = !this.#parts.store.status().writable;
    if (isDown && this.#wasDown) for (const webhook of this.#allowed) await this.#tell(webhook);
    if (!isDown) {
      await this.#enter();
      this.#allowed = await this.#whoMayHear();
    }
    this.#wasDown = isDown;
  }

  async #whoMayHear(): Promise<WebhookRecord[]> {
    const { webhooks, mayHear, now } = this.#parts;
    const allowed: WebhookRecord[] = [];
    for (const webhook of webhooks()) {
      if (!webhook.alerts.includes('store.not_writable')) continue;
      if (await mayHear(webhook, toldOf(webhook, now()))) allowed.push(webhook);
    }
    return allowed;
  }

  async #tell(webhook: WebhookRecord): Promise<void> {
    const { attempt, now } = this.#parts;
    const told = this.#told.get(webhook.id) ?? toldOf(webhook, now());
    this.#told.set(webhook.id, told);
    if (told.deliveredAt !== undefined) return;
    told.attempts += 1;
    if ((await attempt(webhook, told)).ok) told.deliveredAt = now().toISOString();
  }

  async #enter(): Promise<void> {
    if (this.#told.size === 0) return;
    await this.#parts.store.transaction(async (tx) => {
      for (const { id, webhookId, event, attempts, deliveredAt } of this.#told.values()) {
        if (!(await tx.webhooks.get(webhookId)) || (await tx.webhookDeliveries.get(id))) continue;
        const ended = deliveredAt !== undefined && { status: 'delivered' as const, deliveredAt };
        const state = ended || { status: 'waiting' as const, nextAt: event.at };
        await tx.webhookDeliveries.insert({ id, webhookId, event, attempts, firstAttemptAt: event.at, ...state });
      }
    });
    this.#told.clear();
  }
}

function toldOf(webhook: WebhookRecord, now: Date): ToldDelivery {
  const { event } = alertDelivery(webhook, { type: 'store.not_writable', id: STORE }, now);
  return { id: newId('whd'), webhookId: webhook.id, event, attempts: 0 };
}
