import { join } from 'node:path';
import type { Logger } from 'pino';
import { SECRETS_KEY } from '../../store/lowdb/files/folder.ts';
import { createSecretBox } from '../../tools/integrations/secrets.ts';
import { Upstreams } from '../../tools/integrations/upstream/upstreams.ts';
import type { LiveCatalog } from '../../tools/registry/live-catalog.ts';
import type { IntegrationSettings } from '../config/integration-config.ts';

type Settings = IntegrationSettings & { readonly dataDir: string };

export function createUpstreams(
  { secretsKey, stdioIntegrations, privateUpstreams, dataDir }: Settings,
  catalog: LiveCatalog,
  client: { readonly name: string; readonly version: string },
  logger: Logger,
): Upstreams {
  return new Upstreams({
    catalog,
    secrets: createSecretBox(secretsKey, join(dataDir, SECRETS_KEY)),
    stdio: stdioIntegrations,
    privateAddresses: privateUpstreams,
    client,
    onState({ id, name }, status) {
      const level = status.state === 'unavailable' ? 'warn' : 'info';
      logger[level]({ integration: { id, name }, ...status }, 'integration');
    },
  });
}
