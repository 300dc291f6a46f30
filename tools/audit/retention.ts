import type { Store } from '../../store/port.ts';
import { type Repeated, startRepeated } from '../registry/repeated.ts';
import { readSettings } from '../settings/settings.ts';

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
  const { retentionDays } = await readSettings(store);
  if (retentionDays.audit === null) return;
  await store.audit.prune(new Date(now.getTime() - retentionDays.audit * DAY_MS).toISOString());
}
