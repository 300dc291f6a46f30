import type { FlowDelivery, FlowDeliveryRecord } from '../../../resources/flow-delivery.ts';
import type { Readers } from '../../../store/port.ts';

/** For so long a delivery is listed, and a repeat of it known. */
export const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

export function expiryOf(now: Date): string {
  return new Date(now.getTime() + KEPT_MS).toISOString();
}

/** The delivery that came with this key before. */
export async function findRepeated(
  { flowDeliveries }: Pick<Readers, 'flowDeliveries'>,
  key: string,
): Promise<FlowDeliveryRecord | undefined> {
  return await flowDeliveries.first({ where: { key } });
}

/** The parts of a delivery that not everybody may see. */
interface Inside {
  readonly reason?: string | undefined;
  readonly body?: unknown;
}

export function showDelivery(
  { id, createdAt: at, scheme, event, outcome, runId, count, lastAt }: FlowDeliveryRecord,
  { reason, body }: Inside,
): FlowDelivery {
  return {
    id,
    at,
    scheme,
    ...(event !== undefined && { event }),
    outcome,
    ...(reason !== undefined && { reason }),
    ...(runId !== undefined && { runId }),
    count,
    ...(lastAt !== undefined && { lastAt }),
    ...(body !== undefined && { body }),
  };
}
