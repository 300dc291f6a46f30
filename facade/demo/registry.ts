import { pino } from 'pino';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { Outgoing } from '../../tools/connections/outgoing.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { createRegistry, type Registry } from '../../tools/core/registry/registry.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { kinds } from '../../tools/kinds.ts';
import { startBudgets } from '../../tools/usage/budget-meter.ts';
import { WebhookEngine } from '../../tools/webhooks/engine.ts';
import { liveCatalog } from '../launch/server-context.ts';
import { createUpstreams } from '../launch/upstreams.ts';

/** Where secrets are sealed, as the server that runs on the store does it. */
export type Sealing = Readonly<{ dataDir: string; secretsKeys: readonly string[] | undefined }>;

interface DemoRegistry {
  readonly registry: Registry;
  close(): Promise<void>;
}

/** Runs the tools without a server: nothing goes out, no integration is started, and each failure ends it. */
export async function demoRegistry(
  store: Store,
  now: () => Date,
  { dataDir, secretsKeys }: Sealing,
): Promise<DemoRegistry> {
  const product = { name: 'agent-admin', version: '' };
  const live = liveCatalog();
  const telemetry = new Telemetry();
  const around = { store, product, baseUrl: '', telemetry, now, onFailure: fail, logger: pino({ enabled: false }) };
  const settings = { secretsKeys: secretsKeys && [...secretsKeys], stdioIntegrations: false, privateUpstreams: false };
  const upstreams = createUpstreams({ ...settings, dataDir }, live, around);
  const outside = { store, box: upstreams.secrets, privateAddresses: false, version: '', now, onFailure: fail };
  const budgets = await startBudgets({ store, now, onFailure: fail });
  const registry = createRegistry({
    store,
    server: {
      ...product,
      protocolVersions: [],
      startedAt: new Date(),
      catalog,
      kinds,
      audit: store.audit,
      rows: store.rows,
      files: store.files,
      storeKind: store.kind,
      storeStatus: () => store.status(),
      models: createModels(),
      telemetry,
      now,
      budgets,
      upstreams,
      secrets: upstreams.secrets,
      outgoing: new Outgoing({ ...outside, sendMail: undefined }),
      webhooks: new WebhookEngine({ ...outside, catalog: live, kinds, sendMail: fail, baseUrl: '', alerts: [] }),
    },
    onFailure: fail,
  });
  return {
    registry,
    async close() {
      await upstreams.close();
      await budgets.close();
    },
  };
}

function fail(cause: unknown): never {
  throw cause;
}
