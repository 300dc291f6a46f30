import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import type { NewRecord, RecordChange, Store, Transaction } from '../../store/port.ts';
import type { RecordKind } from '../core/kind.ts';
import { EnabledRecords } from '../core/registry/enabled-records.ts';
import { eventOf, type RecordEvent } from '../flows/event-types.ts';
import { alertDelivery, alertOf } from './alerts.ts';

interface OutboxParts {
  readonly store: Store;
  readonly kinds: readonly RecordKind[];
  now(): Date;
  onFailure(cause: unknown): void;
}

/** Writes events for waiting webhooks in the transaction of the change. While none waits, transactions are as they are without it. */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #open = new Map<string, WebhookRecord>();
  #byEvent: Waiting = new Map();
  #byAlert: Waiting = new Map();
  #stopAdding: (() => void) | undefined;
  readonly #following: EnabledRecords<'webhooks'>;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#following = new EnabledRecords({
      store: parts.store,
      name: 'webhooks',
      put: (webhook) => void this.#open.set(webhook.id, webhook),
      drop: (id) => void this.#open.delete(id),
      settled: () => this.#sort(),
      onFailure: parts.onFailure,
    });
  }

  /** Follows the webhooks. Those that other processes write are known within a second. */
  start(): Promise<void> {
    return this.#following.start();
  }

  close(): void {
    this.#following.close();
    this.#stopAdding?.();
  }

  get webhooks(): Iterable<WebhookRecord> {
    return this.#open.values();
  }

  #sort(): void {
    const taking = [...this.#open.values()].filter(({ leavesOutSince }) => leavesOutSince === undefined);
    this.#byEvent = waitingIn(taking, 'events');
    this.#byAlert = waitingIn(taking, 'alerts');
    if (taking.length > 0) this.#stopAdding ??= this.#parts.store.beforeCommit((tx, changes) => this.#add(tx, changes));
    else {
      this.#stopAdding?.();
      this.#stopAdding = undefined;
    }
  }

  async #add(tx: Transaction, changes: readonly RecordChange[]): Promise<void> {
    const { kinds, now } = this.#parts;
    for (const change of changes) {
      const event = eventOf(change, kinds);
      for (const { id } of (event && this.#byEvent.get(event.type)) ?? []) {
        if (event) await tx.webhookDeliveries.insert(eventDelivery(id, event, now()));
      }
      const alert = alertOf(change);
      for (const webhook of (alert && this.#byAlert.get(alert.type)) ?? []) {
        if (alert) await tx.webhookDeliveries.insert(alertDelivery(webhook, alert, now()));
      }
    }
  }
}

type Waiting = ReadonlyMap<string, readonly WebhookRecord[]>;

function waitingIn(webhooks: readonly WebhookRecord[], member: 'events' | 'alerts'): Waiting {
  const waiting = new Map<string, WebhookRecord[]>();
  for (const webhook of webhooks) {
    for (const type of webhook[member]) waiting.set(type, [...(waiting.get(type) ?? []), webhook]);
  }
  return waiting;
}

function eventDelivery(
  webhookId: string,
  { type, id, record, need }: RecordEvent,
  now: Date,
): NewRecord<WebhookDeliveryRecord> {
  const { revision } = record;
  const at = now.toISOString();
  return {
    webhookId,
    event: { type, id, ...(typeof revision === 'number' && { revision }), at },
    status: 'waiting',
    attempts: 0,
    nextAt: at,
    facts: factsOf(record, need.ids),
  };
}

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** What decides who may hear of the record. Names are content, so of the words by which grants name it only ids are kept. */
function factsOf(record: RecordEvent['record'], names: readonly string[]): NonNullable<WebhookDeliveryRecord['facts']> {
  const { accessKeys, threadId, createdBy } = record as Readonly<Record<string, unknown>>;
  const keys = Array.isArray(accessKeys) ? accessKeys.filter((key) => typeof key === 'string') : undefined;
  return {
    ids: names.filter((name) => ID.test(name)),
    ...(keys && { accessKeys: keys }),
    ...(typeof threadId === 'string' && { threadId }),
    ...(typeof createdBy === 'string' && { createdBy }),
  };
}
