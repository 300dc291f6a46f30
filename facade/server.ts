import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { noProgress, type OpenProgress } from '../store/open-progress.ts';
import type { PeriodicTask } from '../store/periodic-task.ts';
import type { Store } from '../store/port.ts';
import { ApprovedCalls } from '../tools/approvals/approved-calls.ts';
import { catalog } from '../tools/catalog.ts';
import { WaitingTurns } from '../tools/chat/waiting-turns.ts';
import { createModels, type Models } from '../tools/core/models/models.ts';
import type { CatalogEntry } from '../tools/core/registry/catalog-index.ts';
import { createRegistry } from '../tools/core/registry/registry.ts';
import { measureEmbeddings } from '../tools/embeddings/measure-embeddings.ts';
import { SemanticSearch } from '../tools/embeddings/semantic-search.ts';
import { FlowEngine } from '../tools/flows/run/engine.ts';
import type { Upstreams } from '../tools/integrations/exports.ts';
import { followProviderRecords } from '../tools/model-providers/provider-records.ts';
import { startRetention } from '../tools/retention.ts';
import { AbandonedRuns } from '../tools/runs/abandoned-runs.ts';
import { startSettling } from '../tools/runs/run-records.ts';
import { prepareSettings } from '../tools/settings/defaults.ts';
import type { SignIn } from '../tools/sign-in/sign-in.ts';
import { startBudgets } from '../tools/usage/budget-meter.ts';
import { startRollUps } from '../tools/usage/roll-ups.ts';
import { StorageMeter } from '../tools/usage/storage-meter.ts';
import { type AppOptions, createApp } from './app.ts';
import { createBackups } from './backups/backups.ts';
import { answerBeforeStart } from './before-start.ts';
import type { Config } from './config/config.ts';
import { createDashboard } from './dashboard/server/dashboard.ts';
import { createOnUncaught, type OnUncaught } from './http/answer-errors.ts';
import { Readiness } from './http/readiness.ts';
import { RefusedRequests } from './http/refused-requests.ts';
import { type HttpServer, listen } from './http/server.ts';
import { AuditAnchor } from './launch/audit-anchor.ts';
import { createDoors, createSignIn, type DoorBase } from './launch/doors.ts';
import { failuresIn } from './launch/logger.ts';
import { oneAtATime } from './launch/open-store.ts';
import { readSecrets } from './launch/secrets.ts';
import { createServerContext, liveCatalog, type Services } from './launch/server-context.ts';
import { createUpstreams, startUpstreams } from './launch/upstreams.ts';
import { createOutgoing, startWebhooks } from './launch/webhooks.ts';
import { createMcpEndpoint, type McpOptions } from './mcp/mcp.ts';
import { startTelemetry } from './telemetry/telemetry.ts';

export interface RunningServer {
  /** The address that the server listens on, also where clients use another one. */
  readonly address: string;
  readonly baseUrl: string;
  readonly signIn: SignIn;
  /** Builds the dashboard if it is not built yet. Otherwise the first page that is asked for waits for it. */
  prepareDashboard(): Promise<void>;
  readonly onUncaught: OnUncaught;
  /** Says at `/readyz` that no more calls should come, and goes on answering. */
  leave(): void;
  /** Stops accepting calls, lets running calls finish, and ends what is left after 10 s. The store stays open. */
  close(): Promise<void>;
}

const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly name: string;
  readonly version: string;
};
const product = { name, version };

/** Additional tools and answers for tests of the protocol, and a clock for tests. */
export interface Fixtures extends Pick<McpOptions, 'answerFirst'> {
  readonly tools?: readonly CatalogEntry[];
  now?(): Date;
}

interface StartOptions extends Fixtures {
  readonly opening?: OpenProgress;
  /** The port, where it was taken before the store was open. */
  readonly http?: HttpServer;
  /** Called before any credential is judged: until it resolves, every request is answered 503. */
  prepare?(): Promise<void>;
}

export async function startServer(
  config: Config,
  opened: Store,
  logger: Logger,
  options: StartOptions = {},
): Promise<RunningServer> {
  const { http = await takePort(config, logger) } = options;
  try {
    return await prepareServer(config, opened, logger, { ...options, http });
  } catch (error) {
    await http.close();
    throw error;
  }
}

/** From now on every request is answered that the server is starting. */
export function takePort(config: Config, logger: Logger): Promise<HttpServer> {
  return listen(config, logger, answerBeforeStart);
}

async function prepareServer(
  config: Config,
  opened: Store,
  logger: Logger,
  options: StartOptions & { readonly http: HttpServer },
): Promise<RunningServer> {
  const { http, now = () => new Date(), prepare, opening = noProgress } = options;
  const monitoring = await startMonitoring(config, opened, logger);
  const { store, telemetry } = monitoring;
  const models = createModels(config.models, telemetry, { cluster: store.cluster, now });
  const { onFailure, onCallFailure, onError } = failuresIn(logger);
  const secrets = await readSecrets(config, store, now);
  await oneAtATime(store, () => prepareSettings(store, models.initial), opening);
  opening.step('ending runs of processes that are gone');
  const settling = await startSettling(store, onFailure);
  await prepare?.();
  const { baseUrl } = http;
  const refused = new RefusedRequests((entry) => store.audit.append(entry));
  const readiness = new Readiness(store);
  const onUncaught = createOnUncaught(logger, telemetry);
  const own = { secrets, refused, readiness, onFailure, onUncaught, now };
  const base: DoorBase = { config, product, store, logger, telemetry, baseUrl, ...own };
  return assembleServer(base, { http, models, settling, monitoring, onCallFailure, onError }, options);
}

interface Prepared extends Pick<ReturnType<typeof failuresIn>, 'onCallFailure'> {
  readonly http: HttpServer;
  readonly models: ReturnType<typeof createModels>;
  readonly settling: PeriodicTask | undefined;
  readonly monitoring: Awaited<ReturnType<typeof startMonitoring>>;
  readonly onError: McpOptions['onError'];
}

/** Starts what answers calls, and opens the doors once all of it runs. */
async function assembleServer(
  base: DoorBase,
  { http, models, settling, monitoring, onCallFailure, onError }: Prepared,
  { tools, answerFirst, opening = noProgress }: StartOptions,
): Promise<RunningServer> {
  const { config, store, baseUrl, secrets, refused, readiness, onFailure } = base;
  const { connections } = http;
  const { storage } = monitoring;
  const people = createSignIn(base, onCallFailure);
  const live = liveCatalog(tools);
  const upstreams = createUpstreams(config, live, base);
  const backups = createBackups(config, base);
  const webhooks = await startWebhooks(base, live, { ...people, storage, upstreams, backups });
  const outgoing = createOutgoing(base, { ...people, upstreams });
  const flows = new FlowEngine({ store, onFailure, jobs: webhooks.jobs });
  opening.step('starting integrations');
  const providers = await startProviders(base, models, upstreams);
  opening.signal.throwIfAborted();
  const budgets = await startBudgets(base);
  const semanticSearch = new SemanticSearch({ store, models, budgets, now: base.now, onFailure });
  measureEmbeddings(base.telemetry.measures.meter, semanticSearch);
  const { signIn } = people;
  const groups = { upstreams, models, semanticSearch, signIn, flows, backups, webhooks, outgoing, budgets, storage };
  const server = createServerContext(base, live, groups, [...people.dependencies, ...monitoring.dependencies]);
  const registry = createRegistry({ ...base, server, repeatsSecret: secrets.repeats, onFailure: onCallFailure });
  const dashboard = createDashboard(version, baseUrl);
  const mcp = createMcpEndpoint({ registry, store, pages: dashboard, onError, answerFirst });
  live.onChange(() => mcp.toolsChanged());
  const doors = createDoors(base, people, { registry, mcp, connections, dashboard, accounts: upstreams.accounts });
  const upkeep = startUpkeep(base, groups, server);
  const decided = startApprovalFollowers({ store, registry, onFailure });
  opening.step('continuing runs of flows');
  await flows.start(registry);
  opening.signal.throwIfAborted();
  http.mount({ ...createApp(doors), onUncaught: base.onUncaught });
  readiness.begin();
  const used = [settling, providers, webhooks, outgoing, upstreams, people.mailer, ...doorResources(doors)];
  return {
    address: http.address,
    baseUrl,
    signIn,
    prepareDashboard: () => dashboard.prepare(),
    onUncaught: base.onUncaught,
    ...shutdown(readiness, [http, mcp, flows, ...decided], [...used, refused, ...upkeep, backups, monitoring]),
  };
}

/** Runs approved calls and resumes waiting turns of agents once somebody decides. */
function startApprovalFollowers(parts: ConstructorParameters<typeof ApprovedCalls>[0]): Closing[] {
  return [new ApprovedCalls(parts).start(), new WaitingTurns(parts).start()];
}

/** Starts the integrations, and then the model providers of records, whose secrets are sealed like theirs. */
async function startProviders(base: DoorBase, models: Models, upstreams: Upstreams) {
  await startUpstreams(base, upstreams);
  const { config, store, onFailure } = base;
  const { secrets } = upstreams;
  const { privateUpstreams: privateAddresses } = config;
  const providers = followProviderRecords({ store, models, secrets, privateAddresses, onFailure });
  await providers.start();
  return providers;
}

async function startMonitoring({ telemetry: settings, storageLimits }: Config, store: Store, logger: Logger) {
  const toolNames = catalog.entries.map(({ tool }) => tool.name);
  const telemetry = await startTelemetry({ settings, store, logger, name, version, toolNames });
  return { ...telemetry, storage: new StorageMeter(telemetry.store, storageLimits) };
}

interface Closing {
  close(): unknown;
}

/** Closes what answers requests in parallel, then what that uses, in order. */
function shutdown(readiness: Readiness, answering: readonly Closing[], used: readonly (Closing | undefined)[]) {
  return {
    leave: () => readiness.leave(),
    async close() {
      readiness.leave();
      await Promise.all(answering.map((part) => part.close()));
      for (const part of used) await part?.close();
    },
  };
}

function doorResources({ capsules, webhooks, authorization }: AppOptions): (Closing | undefined)[] {
  return [capsules.use, webhooks, authorization];
}

/** Starts background work: opens imported rows, lists models, makes backups, ends abandoned runs, adds up usage, deletes old entries. */
function startUpkeep(
  { config, store, onFailure, now }: DoorBase,
  { models, semanticSearch: meaning, backups, budgets }: Services,
  { agentRuns }: ReturnType<typeof createServerContext>,
) {
  store.rows.wake().catch(onFailure);
  meaning.start().catch(onFailure);
  void models.list();
  backups?.start();
  const { privateUpstreams: privateAddresses, auditAnchorUrl: url } = config;
  const { proof } = store.audit;
  const anchor = proof && url !== undefined ? new AuditAnchor(proof, { url, privateAddresses, onFailure }) : undefined;
  const abandoned = agentRuns && new AbandonedRuns(store, agentRuns).start(onFailure);
  return [abandoned, startRollUps(store, now, onFailure), startRetention(store, onFailure), anchor, meaning, budgets];
}
