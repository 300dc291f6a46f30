import { SETTINGS_ID } from '../../resources/settings.ts';
import type { Store } from '../../store/port.ts';
import { type Repeated, startRepeated } from '../registry/repeated.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Deletes audit entries that are older than the settings allow, now and once a day. */
export function startAuditRetention(
  store: Store,
  onFailure: (cause: unknown) => void,
  everyMs: number = DAY_MS,
): Repeated {
  return startRepeated(() => pruneAudit(store, new Date()), onFailure, everyMs);
}

async function pruneAudit(store: Store, now: Date): Promise<void> {
  const days = (await store.settings.get(SETTINGS_ID))?.retentionDays.audit;
  if (typeof days !== 'number') return;
  await store.audit.prune(new Date(now.getTime() - days * DAY_MS).toISOString());
}
