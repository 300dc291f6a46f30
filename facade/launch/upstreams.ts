import { join } from 'node:path';
import type { Logger } from 'pino';
import { SECRETS_KEY } from '../../store/lowdb/files/folder.ts';
import type { Store } from '../../store/port.ts';
import type { LiveCatalog } from '../../tools/core/registry/live-catalog.ts';
import { createSecretBox } from '../../tools/core/sealing/secrets.ts';
import type { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { IntegrationAccounts } from '../../tools/integrations/accounts/accounts.ts';
import { Upstreams } from '../../tools/integrations/upstream/upstreams.ts';
import type { IntegrationSettings } from '../config/integration-config.ts';
import { reencryptSecrets } from './reencrypt-secrets.ts';

type Settings = IntegrationSettings & { readonly dataDir: string };

interface Surroundings {
  readonly store: Store;
  readonly client: { readonly name: string; readonly version: string };
  readonly baseUrl: string;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  now(): Date;
  onFailure(cause: unknown): void;
}

/** Starts the integrations. After a change of keys, what an earlier one encrypted is encrypted anew before, and the log says when that one can go. */
export async function startUpstreams(
  { store, logger }: Pick<Surroundings, 'store' | 'logger'>,
  upstreams: Upstreams,
): Promise<void> {
  const records = await reencryptSecrets(store, upstreams.secrets);
  if (records > 0) logger.info({ records }, 'secrets encrypted with the first of SECRETS_KEY; the others can go');
  await upstreams.start(store);
}

export function createUpstreams(
  { secretsKeys, stdioIntegrations, privateUpstreams, dataDir }: Settings,
  catalog: LiveCatalog,
  { store, client, baseUrl, telemetry, now, onFailure, logger }: Surroundings,
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
