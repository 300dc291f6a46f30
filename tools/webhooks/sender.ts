import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import type { Change, Store, Transaction } from '../../store/port.ts';
import { whileHolding } from '../../store/while-holding.ts';
import type { RecordKind } from '../core/kind.ts';
import type { Fetch } from '../core/outbound/fetch.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { readSettings } from '../settings/settings.ts';
import { raiseAlert } from './alerts.ts';
import { type Attempt, afterAttempt, afterFailure, isDue, isPaused, post } from './attempt.ts';
import { deliveryRefusal, told } from './delivery-refusal.ts';
import { isMailDue, mailOf, type SendMail } from './mails.ts';
import { dueLanes, type Lane } from './outbox.ts';
import { signingSecrets } from './secrets.ts';

/** Events of different records that are sent at once to one webhook. */
export const AT_ONCE = 8;
export const MOST_IN_MAIL = 2000;
const BATCH = 100;
/** How soon to look again, where another process sends. */
const AGAIN_MS = 1000;
export const SEND = 'send_webhook';

interface WebhookSenderDeps {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly kinds: readonly RecordKind[];
  readonly box: SecretBox;
  readonly fetch: Fetch;
  readonly sendMail: SendMail;
  readonly answerMs: number;
  readonly version: string;
  readonly baseUrl: string;
  now(): Date;
  onFailure(cause: unknown): void;
}

/** Sends what waits. One process sends for one webhook at a time. */
export class WebhookSender {
  readonly #deps: WebhookSenderDeps;
  readonly #underWay = new Map<string, { readonly bell: WakeSignal; readonly done: Promise<void> }>();
  readonly #closed = new AbortController();

  constructor(deps: WebhookSenderDeps) {
    this.#deps = deps;
  }

  begin(webhookId: string): void {
    if (this.#closed.signal.aborted) return;
    const running = this.#underWay.get(webhookId);
    if (running) {
      running.bell.ring();
      return;
    }
    const bell = new WakeSignal();
    const done = this.#run(webhookId, bell)
      .catch(this.#deps.onFailure)
      .then(() => void this.#underWay.delete(webhookId));
    this.#underWay.set(webhookId, { bell, done });
  }

  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all([...this.#underWay.values()].map(({ done }) => done));
  }

  /** What was under way is sent again after the next start. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.settled();
  }

  /** Sends once, and keeps nothing about it. */
  async attempt(webhook: WebhookRecord, delivery: Pick<WebhookDeliveryRecord, 'id' | 'event'>): Promise<Attempt> {
    const { box, fetch, version, answerMs, now } = this.#deps;
    const { url } = webhook.target;
    if (url === undefined) return this.#mail(webhook, [delivery]);
    const at = now();
    const signed = { url, secrets: signingSecrets(webhook, box, at), version, at };
    return post(delivery, signed, { fetch, signal: this.#closed.signal, answerMs });
  }

  async #run(webhookId: string, bell: WakeSignal): Promise<void> {
    const { store } = this.#deps;
    do {
      const sent = await whileHolding(store, `webhook ${webhookId}`, () => this.#sendDue(webhookId, bell));
      if (!sent) return store.jobs.add(SEND, { webhookId }, { key: `${webhookId} again`, afterMs: AGAIN_MS });
    } while (bell.rang && !this.#closed.signal.aborted);
  }

  /** Sends what is due, of several records at once, until nothing more is. */
  async #sendDue(webhookId: string, bell: WakeSignal): Promise<void> {
    const { store, now } = this.#deps;
    const active = new Map<string, Promise<void>>();
    do {
      bell.reset();
      const webhook = await store.webhooks.get(webhookId);
      if (!webhook?.enabled || this.#closed.signal.aborted || isPaused(webhook, now())) break;
      if (webhook.target.url === undefined) return this.#mailDue(webhook);
      // A receiver that was away is asked with one event before the others follow.
      const isProbe = webhook.restsUntil !== undefined;
      const room = (isProbe ? 1 : AT_ONCE) - active.size;
      // Those that end while it looks are left out too: it may have read their events as they were before.
      const without = new Set(active.keys());
      const lanes = room > 0 ? await this.#due(webhookId, { now: now(), enough: room, without }) : [];
      for (const [record, lane] of lanes) {
        const sent = this.#sendLane(isProbe ? lane.slice(0, 1) : lane)
          .catch(this.#deps.onFailure)
          .then(() => {
            active.delete(record);
            bell.ring();
          });
        active.set(record, sent);
      }
      if (active.size > 0) await bell.wait();
    } while (active.size > 0 || bell.rang);
    await Promise.all(active.values());
  }

  /** Without a cluster, memory shows changes before they are on the disk; a transaction waits for those that it read. */
  #due(webhookId: string, input: Parameters<typeof dueLanes>[2]): ReturnType<typeof dueLanes> {
    const { store } = this.#deps;
    return store.cluster
      ? dueLanes(store, webhookId, input)
      : store.transaction((tx) => dueLanes(tx, webhookId, input));
  }

  /** A later event of a record waits for the end of the one before. */
  async #sendLane(lane: Lane): Promise<void> {
    for (const delivery of lane) {
      const { store, now } = this.#deps;
      const webhook = await store.webhooks.get(delivery.webhookId);
      if (!webhook?.enabled || isPaused(webhook, now()) || !isDue(delivery, now())) return;
      if ((await this.#send(webhook, delivery)) === 'waiting') return;
    }
  }

  async #send(webhook: WebhookRecord, delivery: WebhookDeliveryRecord): Promise<WebhookDeliveryRecord['status']> {
    const problem = await deliveryRefusal(webhook, delivery, this.#deps);
    if (problem) return this.#withhold(delivery, problem);
    const attempt = await this.attempt(webhook, await told(webhook, delivery, this.#deps));
    if (this.#closed.signal.aborted && !attempt.ok) return 'waiting';
    const [kept] = await this.#keep(webhook.id, [delivery], attempt);
    return kept?.status ?? 'waiting';
  }

  async #withhold({ id, revision }: WebhookDeliveryRecord, lastError: string): Promise<'withheld' | 'waiting'> {
    return this.#deps.store.transaction(async (tx) => {
      if ((await tx.webhookDeliveries.get(id))?.revision !== revision) return 'waiting';
      await tx.webhookDeliveries.update(id, { status: 'withheld', nextAt: null, lastError });
      return 'withheld';
    });
  }

  /** Stores the outcome and the state of the receiver, but not of deliveries that another process or a retry changed meanwhile. */
  async #keep(
    webhookId: string,
    deliveries: readonly WebhookDeliveryRecord[],
    attempt: Attempt,
  ): Promise<WebhookDeliveryRecord[]> {
    const { store, now } = this.#deps;
    return store.transaction(async (tx) => {
      const kept: WebhookDeliveryRecord[] = [];
      for (const { id, revision } of deliveries) {
        const current = await tx.webhookDeliveries.get(id);
        if (current?.revision !== revision) continue;
        kept.push(await tx.webhookDeliveries.update(id, afterAttempt(current, attempt, now())));
      }
      await noteHealth(tx, webhookId, attempt, now());
      return kept;
    });
  }

  async #mailDue(webhook: WebhookRecord): Promise<void> {
    const { store, now } = this.#deps;
    const where = { webhookId: webhook.id, status: 'waiting' } as const;
    const { records } = await store.webhookDeliveries.find({ where, order: 'oldest', limit: MOST_IN_MAIL });
    const [oldest] = records;
    if (!oldest || !isMailDue(webhook, oldest, now())) return;
    const heard: WebhookDeliveryRecord[] = [];
    for (const delivery of records) {
      const problem = await deliveryRefusal(webhook, delivery, this.#deps);
      if (problem) await this.#withhold(delivery, problem);
      else heard.push(delivery);
    }
    if (heard.length === 0) return;
    const events = [];
    for (const delivery of heard) events.push(await told(webhook, delivery, this.#deps));
    const attempt = await this.#mail(webhook, events);
    for (let at = 0; at < heard.length; at += BATCH) await this.#keep(webhook.id, heard.slice(at, at + BATCH), attempt);
  }

  async #mail(webhook: WebhookRecord, events: readonly Pick<WebhookDeliveryRecord, 'event'>[]): Promise<Attempt> {
    const { store, sendMail, baseUrl } = this.#deps;
    try {
      const { workspaceName: workspace } = await readSettings(store);
      await sendMail(mailOf(webhook, events, { workspace, baseUrl }));
      return { ok: true };
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause);
      return { ok: false, error: `The mail was not sent: ${words}`.slice(0, 500), isAway: true };
    }
  }
}

const WELL: Change<WebhookRecord> = {
  failures: null,
  failingSince: null,
  restsSince: null,
  restsUntil: null,
  lastError: null,
};
/** How exactly the time of the last delivery is kept. */
const SENT_MS = 60_000;

/** Keeps whether the receiver works. Failures of attempts that were under way together count once. */
async function noteHealth(tx: Transaction, id: string, attempt: Attempt, now: Date): Promise<void> {
  const webhook = await tx.webhooks.get(id);
  if (!webhook) return;
  if (attempt.ok) {
    const isKnown = webhook.failingSince === undefined && webhook.target.url !== undefined;
    const sinceMs = now.getTime() - Date.parse(webhook.lastSentAt ?? '');
    if (!isKnown || !(Math.abs(sinceMs) < SENT_MS))
      await tx.webhooks.touch(id, { ...WELL, lastSentAt: now.toISOString() });
    return;
  }
  if (attempt.isAway && isPaused(webhook, now)) return;
  const { kept, stopped } = afterFailure(webhook, attempt, now);
  await tx.webhooks.touch(id, kept);
  if (stopped === null || !webhook.enabled) return;
  const { revision } = await tx.webhooks.update(id, { enabled: false, stopped });
  await raiseAlert(tx, { type: 'webhook.failed', id, revision }, now);
}

/** Wakes a waiter, now or at its next wait. */
class WakeSignal {
  #rang = false;
  #ring = () => {};

  /** Whether it rang since `reset`. */
  get rang(): boolean {
    return this.#rang;
  }

  ring(): void {
    this.#rang = true;
    this.#ring();
  }

  reset(): void {
    this.#rang = false;
  }

  /** Resolves when it rings, or at once if it rang since `reset`. */
  wait(): Promise<void> {
    if (this.#rang) return Promise.resolve();
    return new Promise((resolve) => {
      this.#ring = resolve;
    });
  }
}
