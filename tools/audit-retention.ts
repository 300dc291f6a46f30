import type { Store } from '../store/port.ts';
import { readSettings } from './settings/settings.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface AuditRetention {
  /** Stops, after what runs. */
  close(): Promise<void>;
}

/** Deletes audit entries older than the settings keep them: now and once a day. */
export function startAuditRetention(
  store: Store,
  onFailure: (cause: unknown) => void,
  everyMs: number = DAY_MS,
): AuditRetention {
  let running = Promise.resolve();
  const run = () => {
    running = running.then(() => pruneAudit(store, new Date())).catch(onFailure);
  };
  run();
  const timer = setInterval(run, everyMs);
  timer.unref();
  return {
    close() {
      clearInterval(timer);
      return running;
    },
  };
}

async function pruneAudit(store: Store, now: Date): Promise<void> {
  const { retentionDays } = await readSettings(store);
  if (retentionDays.audit === null) return;
  await store.audit.prune(new Date(now.getTime() - retentionDays.audit * DAY_MS).toISOString());
}
