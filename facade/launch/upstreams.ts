import { join } from 'node:path';
import { SECRETS_KEY } from '../../store/lowdb/files/folder.ts';
import type { LiveCatalog } from '../../tools/core/registry/catalog-index.ts';
import { createSecretBox } from '../../tools/core/sealing/secrets.ts';
import { IntegrationAccounts } from '../../tools/integrations/accounts/accounts.ts';
import { Upstreams } from '../../tools/integrations/upstream/upstreams.ts';
import type { IntegrationSettings } from '../config/integration-config.ts';
import { reencryptSecrets } from './reencrypt-secrets.ts';
import type { ServerBase } from './server-context.ts';

/** Starts the integrations. After a key change it first encrypts stored secrets anew, and logs when the old key can be removed. */
export async function startUpstreams(
  { store, logger }: Pick<ServerBase, 'store' | 'logger'>,
  upstreams: Upstreams,
): Promise<void> {
  const records = await reencryptSecrets(store, upstreams.secrets);
  if (records > 0) logger.info({ records }, 'secrets encrypted with the first of SECRETS_KEY; the others can go');
  await upstreams.start(store);
}

export function createUpstreams(
  {
    secretsKeys,
    stdioIntegrations,
    privateUpstreams,
    dataDir,
  }: Omit<IntegrationSettings, 'privateLinks'> & { readonly dataDir: string },
  catalog: LiveCatalog,
  { store, product: client, baseUrl, telemetry, now, onFailure, logger }: Omit<ServerBase, 'config'>,
): Upstreams {
  const secrets = createSecretBox(secretsKeys, join(dataDir, SECRETS_KEY));
  const shared = { secrets, privateAddresses: privateUpstreams, onFailure };
  return new Upstreams({
    ...shared,
    catalog,
    accounts: new IntegrationAccounts({ ...shared, store, baseUrl, name: client.name, now }),
    stdio: stdioIntegrations,
    client,
    telemetry,
    onState({ id, name }, status) {
      const level = status.state === 'unavailable' ? 'warn' : 'info';
      logger[level]({ integration: { id, name }, ...status }, 'integration');
    },
  });
}
