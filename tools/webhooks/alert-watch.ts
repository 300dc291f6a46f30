import type { AlertRecord } from '../../resources/webhook.ts';
import type { Store } from '../../store/port.ts';
import { allOf } from '../core/registry/paging.ts';
import { type Alert, raiseAlert } from './alerts.ts';

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
