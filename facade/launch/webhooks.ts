import { Clocks } from '../../tools/clocks.ts';
import { Outgoing } from '../../tools/connections/outgoing.ts';
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
import type { ServerBase, Services } from './server-context.ts';

interface Sources extends Pick<Services, 'storage' | 'upstreams' | 'backups'> {
  readonly mailer: Mailer;
}

/** What sends to others when it is called. */
export function createOutgoing(
  { config, store, product, now, onFailure }: ServerBase,
  { upstreams, mailer }: Pick<Sources, 'upstreams' | 'mailer'>,
): Outgoing {
  return new Outgoing({
    store,
    box: upstreams.secrets,
    privateAddresses: config.privateUpstreams,
    version: product.version,
    sendMail: mailer.kind === 'smtp' ? (mail) => mailer.deliver(mail) : undefined,
    now,
    onFailure,
  });
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
    sendMail: async (mail) => void (await mailer.deliver(mail)),
    version: product.version,
    baseUrl,
    alerts: [
      integrationAlerts(store, upstreams),
      expiryAlerts(store),
      storageAlerts(store, storage),
      ...(backups ? [backupAlerts(backups)] : []),
      ...(store.cluster ? [clockAlerts(new Clocks(store.cluster))] : []),
    ],
    now,
    onFailure,
  });
  await engine.start();
  return engine;
}
