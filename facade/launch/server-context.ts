import type { Logger } from 'pino';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { Clocks } from '../../tools/clocks.ts';
import type { Outgoing } from '../../tools/connections/outgoing.ts';
import type { Models } from '../../tools/core/models/models.ts';
import type { CatalogEntry } from '../../tools/core/registry/catalog-index.ts';
import { LiveCatalog } from '../../tools/core/registry/catalog-index.ts';
import type { Dependency, ServerContext } from '../../tools/core/registry/context.ts';
import type { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import type { SemanticSearch } from '../../tools/embeddings/semantic-search.ts';
import type { FlowEngine } from '../../tools/flows/run/engine.ts';
import type { Upstreams } from '../../tools/integrations/upstream/upstreams.ts';
import { kinds } from '../../tools/kinds.ts';
import { RunningRuns } from '../../tools/runs/run-records.ts';
import type { SignIn } from '../../tools/sign-in/sign-in.ts';
import type { BudgetMeter } from '../../tools/usage/budget-meter.ts';
import type { StorageMeter } from '../../tools/usage/storage-meter.ts';
import type { WebhookEngine } from '../../tools/webhooks/engine.ts';
import type { ServerBackups } from '../backups/backups.ts';
import type { Config } from '../config/config.ts';
import { PROTOCOL_VERSIONS } from '../mcp/mcp.ts';

export function liveCatalog(fixtures: readonly CatalogEntry[] = []): LiveCatalog {
  const live = new LiveCatalog(catalog);
  live.put('fixtures', fixtures);
  return live;
}

export interface Services {
  readonly upstreams: Upstreams;
  readonly models: Models;
  readonly semanticSearch: SemanticSearch;
  readonly signIn: SignIn;
  readonly flows: FlowEngine;
  readonly backups: ServerBackups | undefined;
  readonly webhooks: WebhookEngine;
  readonly outgoing: Outgoing;
  readonly budgets: BudgetMeter;
  readonly storage: StorageMeter;
}

/** What every part of a server is made with. */
export interface ServerBase {
  readonly config: Config;
  readonly product: { readonly name: string; readonly version: string };
  readonly store: Store;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly baseUrl: string;
  onFailure(cause: unknown): void;
  now(): Date;
}

export function createServerContext(
  { config, product, store, telemetry, baseUrl, now }: ServerBase,
  live: LiveCatalog,
  parts: Services,
  others: readonly Dependency[],
): ServerContext {
  const { models, semanticSearch: meaning, upstreams, backups, webhooks } = parts;
  const clocks = store.cluster && new Clocks(store.cluster);
  const own = [...(backups ? [backups] : []), ...(clocks ? [clocks] : [])];
  return {
    ...product,
    protocolVersions: PROTOCOL_VERSIONS,
    startedAt: now(),
    catalog: live,
    kinds,
    audit: store.audit,
    rows: store.rows,
    files: store.files,
    storeKind: store.kind,
    worker: store.jobs.worker,
    storeStatus: () => store.status(),
    // Loaded when it is asked for.
    checkSetup: async () => [
      ...(await (await import('../doctor/examine.ts')).examine(config, process.env)),
      await (await import('../doctor/proof-check.ts')).proofFinding(store.audit.proof),
    ],
    telemetry,
    baseUrl,
    now,
    dependencies: [models, meaning, upstreams, webhooks, ...others, ...own],
    clocks,
    agentRuns: new RunningRuns(store),
    integrationAccounts: upstreams.accounts,
    secrets: upstreams.secrets,
    privateAddresses: config.privateUpstreams,
    privateLinks: config.privateLinks,
    ...parts,
  };
}
