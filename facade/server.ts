import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Store } from '../store/port.ts';
import type { Principal } from '../tools/access/principal.ts';
import { startAuditRetention } from '../tools/audit/retention.ts';
import { catalog } from '../tools/catalog.ts';
import { settleRuns } from '../tools/chat/agent-runs.ts';
import { FlowEngine } from '../tools/flows/run/engine.ts';
import type { Upstreams } from '../tools/integrations/upstream/upstreams.ts';
import { kinds } from '../tools/kinds.ts';
import { createModels, type Models } from '../tools/models/models.ts';
import type { CatalogEntry } from '../tools/registry/catalog-index.ts';
import type { Dependency, ServerFacts } from '../tools/registry/context.ts';
import { LiveCatalog } from '../tools/registry/live-catalog.ts';
import { createRegistry } from '../tools/registry/registry.ts';
import { prepareSettings } from '../tools/settings/defaults.ts';
import { Issuer } from '../tools/sign-in/issuer.ts';
import { SignInRefused } from '../tools/sign-in/refusal.ts';
import { SignIn } from '../tools/sign-in/sign-in.ts';
import { type AppOptions, createApp } from './app.ts';
import type { Config } from './config/config.ts';
import { createDashboard, type Dashboard } from './dashboard/server/dashboard.ts';
import { createAuthenticator } from './http/authenticate.ts';
import { createGuards } from './http/guards.ts';
import { RefusedRequests } from './http/refused-requests.ts';
import { listen } from './http/server.ts';
import { createSessionCookies } from './http/session-cookie.ts';
import { createAccountHandlers } from './integrations/handlers.ts';
import { readRepeatsSecret, readSessionSecrets, readSigningKeys } from './launch/secret-files.ts';
import { createUpstreams, renewSecrets } from './launch/upstreams.ts';
import { CapsuleDoor } from './mcp/capsule-door.ts';
import { createMcpDoor, type McpDoorOptions, PROTOCOL_VERSIONS } from './mcp/mcp.ts';
import { createAddressPage } from './oauth/address-page.ts';
import { createConsent } from './oauth/consent.ts';
import { createOAuth } from './oauth/oauth.ts';
import { createMailer } from './sign-in/mail.ts';
import { createPages } from './sign-in/pages.ts';
import { createIdentityProvider } from './sign-in/provider.ts';

export interface RunningServer {
  /** The address that the server listens on, also where clients use another one. */
  readonly address: string;
  readonly baseUrl: string;
  readonly signIn: SignIn;
  /** Builds the dashboard if it is not built yet. Otherwise the first page that is asked for waits for it. */
  prepareDashboard(): Promise<void>;
  /** Stops accepting calls, lets running calls finish, and ends what is left after 10 s. The store stays open. */
  close(): Promise<void>;
}

const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly name: string;
  readonly version: string;
};

/** Additional tools and answers for tests of the protocol, and a clock for tests. */
export interface Fixtures extends Pick<McpDoorOptions, 'answerFirst'> {
  readonly tools?: readonly CatalogEntry[];
  now?(): Date;
}

/** Starts all doors on an open store. */
export async function startServer(
  config: Config,
  store: Store,
  logger: Logger,
  fixtures?: Fixtures,
): Promise<RunningServer> {
  const models = createModels(config.models);
  await prepareSettings(store, models.initial);
  await settleRuns(store);
  const { now = () => new Date(), answerFirst, tools } = fixtures ?? {};
  const secrets = readSecrets(config, now());
  const http = await listen(config, logger);
  const { baseUrl, connections } = http;

  const onFailure = (cause: unknown) => logger.error({ err: cause }, 'background work failed');
  const onCallFailure = (cause: unknown, call: Failed) => logFailure(logger, cause, call);
  const refused = new RefusedRequests((entry) => store.audit.append(entry));
  const base: Base = { config, store, logger, baseUrl, secrets, refused, onFailure, now };
  const people = createPeople(base, onCallFailure);
  const live = new LiveCatalog(catalog);
  if (tools) live.put('fixtures', tools);
  const upstreams = createUpstreams(config, live, { ...base, client: { name, version } });
  const dependencies = [models, upstreams, people.mailer, ...(people.provider ? [people.provider] : [])];
  const flows = new FlowEngine({ store, onFailure });
  await renewSecrets(base, upstreams);
  await upstreams.start(store);
  const facts = factsOf(store, live, { upstreams, models, signIn: people.signIn, flows, now }, dependencies);
  void models.list();
  const registry = createRegistry({ ...base, server: facts, repeatsSecret: secrets.repeats, onFailure: onCallFailure });
  const dashboard = createDashboard(version, baseUrl);
  const mcp = createMcpDoor({ registry, store, pages: dashboard, onError: onFailure, answerFirst });
  live.onChange(() => mcp.toolsChanged());
  const doors = createDoors(base, people, { registry, mcp, connections, dashboard, accounts: upstreams.accounts });
  const app = createApp(doors);
  http.mount(app.express, app.answer);
  const upkeep = startUpkeep(store, onFailure);
  await flows.start(registry);
  return {
    address: http.address,
    baseUrl,
    signIn: people.signIn,
    prepareDashboard: () => dashboard.prepare(),
    async close() {
      await Promise.all([http.close(), mcp.close(), flows.close()]);
      const parts = [upstreams, people.mailer, doors.capsules.use, doors.authorization, refused, upkeep];
      for (const part of parts) await part?.close();
    },
  };
}

/** What every part of a server is made with. */
interface Base {
  readonly config: Config;
  readonly store: Store;
  readonly logger: Logger;
  readonly baseUrl: string;
  readonly secrets: ReturnType<typeof readSecrets>;
  readonly refused: RefusedRequests;
  onFailure(cause: unknown): void;
  now(): Date;
}

/** The secrets from the environment. Without those, from the data folder, where they are made at the first start. */
function readSecrets({ sessionSecrets, dataDir }: Config, now: Date) {
  return {
    cookies: sessionSecrets ?? readSessionSecrets(dataDir),
    signingKeys: readSigningKeys(dataDir, now),
    repeats: readRepeatsSecret(dataDir),
  };
}

/** How people sign in: links and ID tokens, the mails that contain links, and the external provider. */
function createPeople(
  { config, store, logger, baseUrl, secrets, refused, now }: Base,
  onFailure: (cause: unknown, call: Failed) => void,
) {
  const issuer = new Issuer(baseUrl, secrets.signingKeys, now);
  const onLimited = (address: string) => refused.count(address, 'rate_limited');
  const redirectUri = `${baseUrl}/sign-in/oidc/callback`;
  return {
    signIn: new SignIn({ store, issuer, secrets: secrets.cookies, baseUrl, now, onFailure, onLimited }),
    mailer: createMailer({ ...config, logger }),
    provider: config.oidc && createIdentityProvider({ ...config.oidc, redirectUri, logger }),
  };
}

/** What the app needs at its doors: who may come in, and the pages beside the API. */
function createDoors(
  base: Base,
  people: ReturnType<typeof createPeople>,
  {
    registry,
    mcp,
    connections,
    dashboard,
    accounts,
  }: Pick<AppOptions, 'registry' | 'mcp' | 'connections'> & {
    readonly dashboard: Dashboard;
    readonly accounts: Upstreams['accounts'];
  },
): AppOptions {
  const { config, store, logger, baseUrl, secrets, refused, onFailure, now } = base;
  const cookies = createSessionCookies({ secrets: secrets.cookies, secure: baseUrl.startsWith('https:') });
  const { catalog } = registry.server;
  const guards = createGuards({ ...config, baseUrl });
  const consent = createConsent({ store, registry, cookies, refused });
  const authorization = config.oauth ? createOAuth({ ...config, ...base, catalog, guards, consent }) : undefined;
  const oauth = authorization?.addresses;
  const authenticator = createAuthenticator({ store, catalog, cookies, oauth, onFailure, now });
  const capsules = new CapsuleDoor({ store, refused, onFailure, now });
  const around = { store, registry, cookies, guards, refused, baseUrl, logger, dashboard };
  const more = { ...authorization?.handlers, ...createAccountHandlers(accounts, around) };
  const signPages = createPages({ ...people, ...around, more });
  const pages: AppOptions['pages'] = (request, response, next) =>
    dashboard.serveAssets(request, response, () => signPages(request, response, next));
  const { signIn } = people;
  return {
    ...config,
    registry,
    mcp,
    connections,
    authenticator,
    guards,
    cookies,
    capsules,
    signIn,
    refused,
    pages,
    baseUrl,
    logger,
    authorization,
    showAddress: createAddressPage({ store, baseUrl, signsIn: oauth !== undefined }),
    onStepUp: (app) => authorization?.stepUps.note(app),
  };
}

/** Opens the imported rows, so that the first question does not wait for it, and regularly deletes old audit entries. */
function startUpkeep(store: Store, onFailure: (cause: unknown) => void) {
  store.rows.wake().catch(onFailure);
  return startAuditRetention(store, onFailure);
}

/** A call or a step of signing in that failed. */
interface Failed {
  readonly requestId: string;
  readonly tool?: string;
  readonly principal?: Principal;
  /** The address of a caller who is not authenticated. */
  readonly address?: string;
}

/** A refused sign-in is not a failure of the server. */
function logFailure(logger: Logger, cause: unknown, { requestId, tool, address, principal }: Failed): void {
  if (cause instanceof SignInRefused) {
    const from = address ?? (principal?.type === 'anonymous' ? principal.id : undefined);
    logger.warn({ requestId, address: from, reason: cause.message }, 'sign-in refused');
  } else logger.error({ err: cause, requestId, tool }, 'tool call failed');
}

function factsOf(
  store: Store,
  live: LiveCatalog,
  parts: {
    readonly upstreams: Upstreams;
    readonly models: Models;
    readonly signIn: SignIn;
    readonly flows: FlowEngine;
    now(): Date;
  },
  dependencies: readonly Dependency[],
): ServerFacts {
  return {
    name,
    version,
    protocolVersions: PROTOCOL_VERSIONS,
    startedAt: parts.now(),
    catalog: live,
    kinds,
    audit: store.audit,
    rows: store.rows,
    storeKind: store.kind,
    storeStatus: () => store.status(),
    dependencies,
    integrationAccounts: parts.upstreams.accounts,
    ...parts,
  };
}
