import type { Store } from '../../store/port.ts';
import type { Backups } from '../../tools/backups.ts';
import { Clocks } from '../../tools/clocks.ts';
import type { StorageQuotas } from '../../tools/core/access/storage.ts';
import type { LiveCatalog } from '../../tools/core/registry/live-catalog.ts';
import type { Upstreams } from '../../tools/integrations/upstream/upstreams.ts';
import { kinds } from '../../tools/kinds.ts';
import {
  backupAlerts,
  clockAlerts,
  expiryAlerts,
  integrationAlerts,
  storageAlerts,
} from '../../tools/webhooks/alert-sources.ts';
import { WebhookEngine } from '../../tools/webhooks/engine.ts';
import type { IntegrationSettings } from '../config/integration-config.ts';
import type { Mailer } from '../sign-in/mail.ts';

interface Surroundings {
  readonly store: Store;
  readonly storage: StorageQuotas;
  readonly upstreams: Upstreams;
  readonly backups: Backups | undefined;
  readonly mailer: Mailer;
  readonly version: string;
  readonly baseUrl: string;
  now(): Date;
  onFailure(cause: unknown): void;
}

export async function startWebhooks(
  { privateUpstreams }: Pick<IntegrationSettings, 'privateUpstreams'>,
  catalog: LiveCatalog,
  { store, storage, upstreams, backups, mailer, version, baseUrl, now, onFailure }: Surroundings,
): Promise<WebhookEngine> {
  const engine = new WebhookEngine({
    store,
    catalog,
    kinds,
    box: upstreams.secrets,
    privateAddresses: privateUpstreams,
    sendMail: (mail) => mailer.deliver(mail),
    version,
    baseUrl,
    alerts: [
      integrationAlerts(store, upstreams),
      expiryAlerts(store),
      storageAlerts(storage),
      ...(backups ? [backupAlerts(backups)] : []),
      ...(store.cluster ? [clockAlerts(new Clocks(store.cluster))] : []),
    ],
    now,
    onFailure,
  });
  await engine.start();
  return engine;
}
