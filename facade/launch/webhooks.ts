import { Clocks } from '../../tools/clocks.ts';
import type { LiveCatalog } from '../../tools/core/registry/catalog-index.ts';
import { kinds } from '../../tools/kinds.ts';
import {
  backupAlerts,
  clockAlerts,
  expiryAlerts,
  integrationAlerts,
  storageAlerts,
} from '../../tools/webhooks/alert-sources.ts';
import { WebhookEngine } from '../../tools/webhooks/engine.ts';
import type { Mailer } from '../sign-in/mail.ts';
import type { Groups, ServerBase } from './facts.ts';

interface Sources extends Pick<Groups, 'storage' | 'upstreams' | 'backups'> {
  readonly mailer: Mailer;
}

export async function startWebhooks(
  { config, store, product, baseUrl, now, onFailure }: ServerBase,
  catalog: LiveCatalog,
  { storage, upstreams, backups, mailer }: Sources,
): Promise<WebhookEngine> {
  const engine = new WebhookEngine({
    store,
    catalog,
    kinds,
    box: upstreams.secrets,
    privateAddresses: config.privateUpstreams,
    sendMail: (mail) => mailer.deliver(mail),
    version: product.version,
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
