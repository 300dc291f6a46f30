import { DAY_MS } from '../../resources/durations.ts';
import type { WebhookDeliveryRecord, WebhookRecord } from '../../resources/webhook.ts';
import type { NewRecord, Position, Readers, RecordChange, Store, Transaction } from '../../store/port.ts';
import { MOST_APART_MS } from '../clocks.ts';
import type { RecordKind } from '../core/kind.ts';
import { EnabledRecords } from '../core/registry/enabled-records.ts';
import { allOf } from '../core/registry/paging.ts';
import { eventOf, type RecordEvent } from '../flows/event-types.ts';
import { alertDelivery, alertOf } from './alerts.ts';
import { isDue } from './attempt.ts';
import { OWN_EVENTS } from './delivery-refusal.ts';

interface OutboxDeps {
  readonly store: Store;
  readonly kinds: readonly RecordKind[];
  now(): Date;
  onFailure(cause: unknown): void;
}

/** Writes events for waiting webhooks in the transaction of the change. While none waits, transactions are as they are without it. */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #open = new Map<string, WebhookRecord>();
  #byEvent: Waiting = new Map();
  #byAlert: Waiting = new Map();
  #stopAdding: (() => void) | undefined;
  readonly #following: EnabledRecords<'webhooks'>;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.#following = new EnabledRecords({
      store: deps.store,
      name: 'webhooks',
      put: (webhook) => void this.#open.set(webhook.id, webhook),
      drop: (id) => void this.#open.delete(id),
      settled: () => this.#sort(),
      onFailure: deps.onFailure,
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
    if (taking.length > 0) this.#stopAdding ??= this.#deps.store.beforeCommit((tx, changes) => this.#add(tx, changes));
    else {
      this.#stopAdding?.();
      this.#stopAdding = undefined;
    }
  }

  async #add(tx: Transaction, changes: readonly RecordChange[]): Promise<void> {
    const { kinds, now } = this.#deps;
    for (const change of changes) {
      const event = eventOf(change, kinds);
      for (const { id } of (event && this.#byEvent.get(event.type)) ?? []) {
        if (event) await tx.webhookDeliveries.insert({ ...eventDelivery(id, event, now()), ...placeOf(change, now()) });
      }
      const alert = alertOf(change);
      for (const webhook of (alert && this.#byAlert.get(alert.type)) ?? []) {
        if (alert && webhook.events.includes(alert.type)) continue; // it has the event of the same name
        if (alert)
          await tx.webhookDeliveries.insert({ ...alertDelivery(webhook, alert, now()), ...placeOf(change, now()) });
      }
    }
  }
}

/** Deliveries are looked through by time, and clocks of processes differ; the times of a record do not go back. */
function placeOf({ record }: RecordChange, now: Date): Pick<WebhookDeliveryRecord, 'createdAt'> {
  const changed = 'updatedAt' in record ? Date.parse(String(record.updatedAt)) : 0;
  return { createdAt: new Date(Math.max(changed, now.getTime())).toISOString() };
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

const PAGE = 200;

/** Events of one record that wait, in the order in which they happened. */
export type Lane = readonly WebhookDeliveryRecord[];

interface LanesInput {
  readonly now: Date;
  /** Looks no further when so many are found. */
  readonly enough: number;
  readonly without: ReadonlySet<string>;
}

/** Lanes whose first event is due, by record, the longest due first. */
export async function dueLanes(
  { webhookDeliveries }: Pick<Readers, 'webhookDeliveries'>,
  webhookId: string,
  { now, enough, without }: LanesInput,
): Promise<(readonly [record: string, lane: Lane])[]> {
  const lanes = new Map<string, WebhookDeliveryRecord[]>();
  let due: (readonly [string, Lane])[];
  let after: Position | undefined;
  do {
    const where = { webhookId, status: 'waiting' } as const;
    const page = await webhookDeliveries.find({ where, order: 'oldest', limit: PAGE, after });
    for (const delivery of page.records) {
      const { id } = delivery.event;
      if (!without.has(id)) lanes.set(id, [...(lanes.get(id) ?? []), delivery]);
    }
    after = page.next ?? undefined;
    const seenTo = after ? instantOf(after.createdAt) : Number.POSITIVE_INFINITY;
    const sorted = [...lanes].map(([record, lane]) => [record, wholeUntil(seenTo, lane)] as const);
    due = sorted.filter(([, [first]]) => first && isDue(first, now));
  } while (after && due.length < enough);
  return due.toSorted(([, [one]], [, [other]]) => instantOf(one?.nextAt) - instantOf(other?.nextAt)).slice(0, enough);
}

/** The events in order, as far as none before them can stand on a page that was not seen: clocks of processes differ. */
function wholeUntil(seenTo: number, lane: Lane): Lane {
  const sorted = lane.toSorted(compare);
  const end = sorted.findIndex(({ createdAt }) => Date.parse(createdAt) + MOST_APART_MS > seenTo);
  return end < 0 ? sorted : sorted.slice(0, end);
}

function instantOf(at: string | undefined): number {
  return at === undefined ? 0 : Date.parse(at);
}

/** By revision, because clocks of processes differ. A deletion has the revision of the state that it ended, and comes after it. */
function compare(one: WebhookDeliveryRecord, other: WebhookDeliveryRecord): number {
  const revision = (one.event.revision ?? 0) - (other.event.revision ?? 0);
  const deleted = Number(isDeletion(one)) - Number(isDeletion(other));
  return revision || deleted || (one.id < other.id ? -1 : 1);
}

function isDeletion({ event }: WebhookDeliveryRecord): boolean {
  return event.type.endsWith('.deleted');
}

/** So many events wait for one webhook at most. Further ones are left out until fewer wait than `ROOM`. */
export const MOST_WAITING = 10_000;
export const ROOM = 9000;
/** Deliveries that ended are kept for this long, and so many of each webhook. */
export const KEPT_MS = 7 * DAY_MS;
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
