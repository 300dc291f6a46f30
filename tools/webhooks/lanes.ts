import type { WebhookDeliveryRecord } from '../../resources/webhook.ts';
import type { Position, Readers } from '../../store/port.ts';
import { isDue } from './attempt.ts';

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
    const sorted = [...lanes].map(([record, lane]) => [record, lane.toSorted(compare)] as const);
    due = sorted.filter(([, [first]]) => first && isDue(first, now));
    after = page.next ?? undefined;
  } while (after && due.length < enough);
  return due.toSorted(([, [one]], [, [other]]) => instantOf(one?.nextAt) - instantOf(other?.nextAt)).slice(0, enough);
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
