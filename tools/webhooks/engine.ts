import type { IntegrationHealth } from '../../resources/health.ts';
import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import { ELSEWHERE } from '../../store/cluster-port.ts';
import { newId } from '../../store/ids.ts';
import type { JobTable } from '../../store/jobs-port.ts';
import { type PeriodicTask, startLeaderTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { Commit, Store } from '../../store/port.ts';
import type { RecordKind } from '../core/kind.ts';
import { createFetch } from '../core/outbound/fetch.ts';
import { addressRefusal } from '../core/outbound/ip-addresses.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { Dependency } from '../core/registry/context.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { type AlertSource, alertDelivery, lookForAlerts } from './alerts.ts';
import { type Attempt, isDue } from './attempt.ts';
import { deliveryRefusal } from './delivery-refusal.ts';
import type { SendMail } from './mails.ts';
import { deleteOldDeliveries, Outbox, trimWaiting } from './outbox.ts';
import { SEND, WebhookSender } from './sender.ts';

declare module '../core/registry/context.ts' {
  interface ServerContext {
    readonly webhooks?: Webhooks | undefined;
  }
}

export interface Webhooks {
  readonly box: SecretBox;
  /** Why nothing is sent to this address. Undefined if it is allowed. */
  refusal(url: string): Promise<string | undefined>;
  /** Sends once, and keeps nothing about it. */
  attempt(webhook: WebhookRecord, delivery: Pick<WebhookDeliveryRecord, 'id' | 'event'>): Promise<Attempt>;
}

interface WebhookEngineOptions {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly kinds: readonly RecordKind[];
  readonly box: SecretBox;
  readonly privateAddresses: boolean;
  readonly sendMail: SendMail;
  readonly version: string;
  readonly baseUrl: string;
  readonly alerts: readonly AlertSource[];
  readonly answerMs?: number;
  now(): Date;
  onFailure(cause: unknown): void;
}

const LOOK_MS = 5000;
const WATCH_MS = 60_000;
/** Events of so long are sent for by one job. */
const GATHER_MS = 50;
export const ANSWER_MS = 10_000;
/** Only the status of an answer counts. */
const MOST_BYTES = 64 * 1024;

/** Tells other systems, and people by mail, what happens here. There is one for each store. */
export class WebhookEngine implements Webhooks, Dependency {
  readonly box: SecretBox;
  readonly #options: WebhookEngineOptions;
  readonly #outbox: Outbox;
  readonly #sending: WebhookSender;
  readonly #alarm: StoreAlarm;
  readonly #closeFetch: () => void;
  readonly #wanted = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #repeated: PeriodicTask[] = [];
  #stopHearing = () => {};

  constructor(options: WebhookEngineOptions) {
    const guarded = createFetch({ ...options, mostBytes: MOST_BYTES });
    this.box = options.box;
    this.#options = options;
    this.#outbox = new Outbox(options);
    this.#sending = new WebhookSender({ answerMs: ANSWER_MS, ...options, fetch: guarded.fetch });
    this.#closeFetch = guarded.close;
    this.#alarm = new StoreAlarm({
      ...options,
      webhooks: () => this.#outbox.webhooks,
      mayHear: async (webhook, delivery) => (await deliveryRefusal(webhook, delivery, options)) === undefined,
      attempt: (webhook, delivery) => this.attempt(webhook, delivery),
    });
  }

  readonly jobs: JobTable = {
    [SEND]: async ({ webhookId }) => this.#sending.begin(String(webhookId)),
  };

  async start(): Promise<void> {
    const { store, onFailure } = this.#options;
    await this.#outbox.start();
    this.#stopHearing = store.onCommit((commit) => this.#committed(commit), ['webhookDeliveries']);
    this.#repeated = [
      startLeaderTask(store.jobs, () => this.look(), { onFailure, everyMs: LOOK_MS }),
      startLeaderTask(store.jobs, () => this.watch(), { onFailure, everyMs: WATCH_MS }),
      startPeriodicTask(() => this.lookAtStore(), onFailure, LOOK_MS),
    ];
  }

  attempt(webhook: WebhookRecord, delivery: Pick<WebhookDeliveryRecord, 'id' | 'event'>): Promise<Attempt> {
    return this.#sending.attempt(webhook, delivery);
  }

  async refusal(url: string): Promise<string | undefined> {
    if (this.#options.privateAddresses) return undefined;
    return addressRefusal(new URL(url));
  }

  async look(): Promise<void> {
    const { store, now } = this.#options;
    for (const webhook of [...this.#outbox.webhooks]) {
      const { id: webhookId } = webhook;
      const waiting = await store.webhookDeliveries.count({ where: { webhookId, status: 'waiting' } });
      await trimWaiting(store, webhook, waiting, now());
      if (waiting > 0) await store.jobs.add(SEND, { webhookId }, { key: webhookId });
    }
  }

  async watch(): Promise<void> {
    const { store, alerts, now } = this.#options;
    await deleteOldDeliveries(store, now());
    const asked = new Set([...this.#outbox.webhooks].flatMap((webhook) => webhook.alerts));
    if (asked.size > 0) for (const source of alerts) await lookForAlerts(store, source, now());
  }

  lookAtStore(): Promise<void> {
    return this.#alarm.look();
  }

  settled(): Promise<void> {
    return this.#sending.settled();
  }

  /** Webhooks that fail, or were switched off because they did. */
  async health(): Promise<readonly IntegrationHealth[]> {
    const { records } = await this.#options.store.webhooks.find({ limit: 100 });
    return records.flatMap(({ name, enabled, failingSince, stopped, lastError }) => {
      if (stopped === undefined && (!enabled || failingSince === undefined)) return [];
      const status = stopped === undefined ? ('degraded' as const) : ('down' as const);
      const why = stopped ?? lastError;
      return [{ name, kind: 'webhook', status, latencyMs: 0, ...(why !== undefined && { lastError: why }) }];
    });
  }

  async close(): Promise<void> {
    this.#stopHearing();
    clearTimeout(this.#timer);
    this.#outbox.close();
    await Promise.all([this.#sending.close(), ...this.#repeated.map((each) => each.close())]);
    this.#closeFetch();
  }

  #committed({ changes, origin }: Commit): void {
    if (origin === ELSEWHERE) return;
    const now = this.#options.now();
    for (const { collection, kind, record } of changes) {
      if (collection !== 'webhookDeliveries' || kind === 'deleted' || record.status !== 'waiting') continue;
      if (isDue(record, now)) this.#wanted.add(record.webhookId);
    }
    if (this.#wanted.size > 0) this.#timer ??= setTimeout(() => this.#wake(), GATHER_MS).unref();
  }

  #wake(): void {
    const { store, onFailure } = this.#options;
    this.#timer = undefined;
    for (const webhookId of this.#wanted) store.jobs.add(SEND, { webhookId }, { key: webhookId }).catch(onFailure);
    this.#wanted.clear();
  }
}

interface StoreAlarmDeps {
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
class StoreAlarm {
  readonly #deps: StoreAlarmDeps;
  #wasDown = false;
  readonly #told = new Map<string, ToldDelivery>();
  /** Webhooks whose owners could read the state of the store when it worked last. */
  #allowed: readonly WebhookRecord[] = [];

  constructor(deps: StoreAlarmDeps) {
    this.#deps = deps;
  }

  /** Looks now. A store that refuses writes in two looks in a row is told of. */
  async look(): Promise<void> {
    const isDown = !this.#deps.store.status().writable;
    if (isDown && this.#wasDown) for (const webhook of this.#allowed) await this.#tell(webhook);
    if (!isDown) {
      await this.#enter();
      this.#allowed = await this.#whoMayHear();
    }
    this.#wasDown = isDown;
  }

  async #whoMayHear(): Promise<WebhookRecord[]> {
    const { webhooks, mayHear, now } = this.#deps;
    const allowed: WebhookRecord[] = [];
    for (const webhook of webhooks()) {
      if (!webhook.alerts.includes('store.not_writable')) continue;
      if (await mayHear(webhook, toldOf(webhook, now()))) allowed.push(webhook);
    }
    return allowed;
  }

  async #tell(webhook: WebhookRecord): Promise<void> {
    const { attempt, now } = this.#deps;
    const told = this.#told.get(webhook.id) ?? toldOf(webhook, now());
    this.#told.set(webhook.id, told);
    if (told.deliveredAt !== undefined) return;
    told.attempts += 1;
    if ((await attempt(webhook, told)).ok) told.deliveredAt = now().toISOString();
  }

  async #enter(): Promise<void> {
    if (this.#told.size === 0) return;
    await this.#deps.store.transaction(async (tx) => {
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
