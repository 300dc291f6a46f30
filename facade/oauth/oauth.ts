import type { Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { startLeaderTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import { appPrincipal } from '../../tools/core/access/app-principal.ts';
import { createFetch } from '../../tools/core/outbound/fetch.ts';
import type { Catalog } from '../../tools/core/registry/catalog-index.ts';
import { isLoopback } from '../config/sign-in-config.ts';
import type { Guards } from '../http/guards.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';
import { contextOf } from '../http/request-context.ts';
import { createAccessTokens } from './access-tokens.ts';
import { Addresses } from './addresses.ts';
import { Clients } from './clients.ts';
import { type Consent, createConsentHandlers } from './consent-handlers.ts';
import { ClientDocuments, LARGEST_DOCUMENT } from './documents.ts';
import { createEndpoints } from './endpoints.ts';
import { createShowProblem, earlyErrors, errorRenderer } from './problem-page.ts';
import { createProvider } from './provider.ts';
import { Requests, StepUps } from './requests.ts';
import { removeEndedConnections, removeUnusedClients } from './unused-clients.ts';

const UPKEEP_MS = 60 * 60 * 1000;
const LARGEST_KEYS = 64 * 1024;

interface OAuthOptions {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly baseUrl: string;
  readonly guards: Guards;
  readonly refused: RefusedRequests;
  readonly logger: Logger;
  /** Whether integrations may be at private and local addresses. */
  readonly privateUpstreams: boolean;
  readonly consent: Consent;
  onFailure(cause: unknown): void;
  now(): Date;
}

export type OAuth = ReturnType<typeof createOAuth>;

/** The authorization server for our own MCP endpoints (OAuth 2.1), so that any client connects by its address alone. */
export function createOAuth(options: OAuthOptions) {
  const { store, baseUrl, logger, onFailure, now } = options;
  const addresses = new Addresses(baseUrl);
  // Anybody can have it ask for a document, so private addresses are for servers that only this machine reaches.
  const privateAddresses = options.privateUpstreams && isLoopback(baseUrl);
  const documentFetch = createFetch({ privateAddresses, mostBytes: LARGEST_DOCUMENT });
  const keyFetch = createFetch({ privateAddresses, mostBytes: LARGEST_KEYS });
  const documents = new ClientDocuments({ store, fetch: documentFetch.fetch, now });
  const clients = new Clients({ store, documents, now });
  const showProblem = createShowProblem(store, addresses);
  const stepUps = new StepUps(store.cluster, now);
  const provider = onceNeeded(() =>
    createProvider({
      store,
      now,
      addresses,
      clients,
      fetch: keyFetch.fetch,
      isConnected: (id) => isConnected(id, options),
      renderError: errorRenderer(showProblem),
      earlyErrors: earlyErrors({ addresses, showProblem, kindOf: (id) => clients.kindOf(id) }),
      onError: (err, response) => logger.error({ requestId: contextOf(response).requestId, err }, 'request failed'),
      onEnded: (ended) => logger.info(ended, 'a connection was ended by its client'),
    }),
  );
  const requests = new Requests({ store, addresses, clients, stepUps, provider });
  const forget = async () => {
    await removeEndedConnections(store, now());
    await removeUnusedClients(store, now());
  };
  const upkeep = startLeaderTask(store.jobs, forget, { onFailure, everyMs: UPKEEP_MS });
  return {
    accessTokens: createAccessTokens({ ...options, store: store.credentials ?? store, addresses }),
    stepUps,
    endpoints: createEndpoints({ ...options, addresses, requests, showProblem }),
    handlers: createConsentHandlers({ ...options, addresses, clients, provider }),
    async close(): Promise<void> {
      documentFetch.close();
      keyFetch.close();
      await upkeep.close();
    },
  };
}

/** Makes it at the first call, and again where that failed. */
function onceNeeded(make: () => Promise<Provider>): () => Promise<Provider> {
  let made: Promise<Provider> | undefined;
  return () => {
    made ??= make().catch((failure: unknown) => {
      made = undefined;
      throw failure;
    });
    return made;
  };
}

/** Whether the connection stands: a refresh is refused where a call would be. */
async function isConnected(id: string, { store, catalog, now }: OAuthOptions): Promise<boolean> {
  const app = await store.connectedApps.get(id);
  return app !== undefined && typeof (await appPrincipal(store, app, { catalog, now: now() })) !== 'string';
}
