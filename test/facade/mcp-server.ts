import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDashboard } from '../../facade/dashboard/server/dashboard.ts';
import { jsonBody, readBody } from '../../facade/http/body.ts';
import { RequestContext } from '../../facade/http/request-context.ts';
import { createMcpEndpoint, type McpEndpoint, PROTOCOL_VERSIONS } from '../../facade/mcp/mcp.ts';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { parseGrant } from '../../tools/core/access/grants.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { grantRights, type Rights, scopeRights } from '../../tools/core/access/rights.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { type CatalogEntry, indexCatalog, LiveCatalog } from '../../tools/core/registry/catalog-index.ts';
import { createRegistry, type Registry } from '../../tools/core/registry/registry.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { testFacts } from '../support/registry.ts';
import { dataFolder, openStoreIn, removeFolder } from '../support/store.ts';
import { fixtureTools } from './mcp-fixture-tools.ts';

export interface McpTestServer {
  /** The endpoint of the whole door, and that of one that answers everything through the SDK. */
  readonly url: string;
  readonly sdkUrl: string;
  readonly store: Store;
  readonly registry: Registry;
  readonly catalog: LiveCatalog;
  readonly door: McpEndpoint;
  readonly errors: unknown[];
  readonly revoked: Set<string>;
  close(): Promise<void>;
}

export const tokens = { admin: 'admin', reader: 'reader', limited: 'limited', nobody: 'nobody' } as const;

/** A token whose rights cannot be judged: everything that asks them fails. */
export const brokenToken = 'broken';

const principals = new Map<string, Principal>([
  ['admin', principalOf('admin', scopeRights(['*']))],
  ['reader', principalOf('reader', scopeRights(['read']))],
  ['limited', principalOf('limited', grantRights(['agent:read:agt_other', 'skill:read'].flatMap(grant)))],
  ['nobody', principalOf('nobody', scopeRights([]))],
  [brokenToken, principalOf(brokenToken, { ...scopeRights([]), fingerprint: 'broken', mayTry: fail })],
]);

export function principalOf(id: string, rights: Rights): Principal {
  return { type: 'api-key', id, name: id, scopes: [], ownerId: 'usr_owner', rights };
}

function fail(): never {
  throw new Error('the secret of the database is hunter2');
}

function grant(text: string) {
  const parsed = parseGrant(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return [parsed.grant];
}

/** Both doors over one registry with the real catalog, the fixture tools and `extra`, on a store of its own. */
export async function startMcpServer(extra: readonly CatalogEntry[] = []): Promise<McpTestServer> {
  const folder = await dataFolder();
  const store = await openStoreIn(folder);
  const fixtures = fixtureTools.map((tool) => ({ group: 'Fixtures', tool }));
  const errors: unknown[] = [];
  const revoked = new Set<string>();
  const live = new LiveCatalog(indexCatalog([...catalog.entries, ...fixtures, ...extra]));
  const now = () => new Date();
  const facts = testFacts(store, { name: 'agent-admin', protocolVersions: PROTOCOL_VERSIONS, catalog: live, now });
  const registry = createRegistry({ store, server: facts, onFailure: (cause) => errors.push(cause) });
  const onError = (cause: unknown) => void errors.push(cause);
  const pages = createDashboard('0', 'http://127.0.0.1');
  const doors = {
    '/mcp': createMcpEndpoint({ registry, store, pages, onError }),
    '/sdk': createMcpEndpoint({ registry, store, pages, onError, direct: false }),
  };
  const server = createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.headers['x-request-id'] ??= 'req_test';
    const context = new RequestContext(request, response);
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const caller = principals.get(token);
    const door = Object.entries(doors).find(([path]) => path === context.url.pathname)?.[1];
    if (!caller || !door || revoked.has(token)) return void response.writeHead(caller ? 404 : 401).end();
    response.setHeader('X-Request-Id', context.requestId);
    const renewed = async () => (revoked.has(token) ? new ToolError('unauthenticated', 'It was revoked.') : caller);
    context.admit(caller, { checkCredential: renewed });
    await door
      .serve(
        context,
        readBody(
          context,
          jsonBody(() => true),
        ),
      )
      .catch((cause) => {
        errors.push(cause);
        response.destroy();
      });
  }

  // A client that makes validators of all tools is away from its connection for longer than the default.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = closedAtEnd(async () => {
    await Promise.all(Object.values(doors).map((door) => door.close()));
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await store.close();
    await removeFolder(folder);
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listening on TCP
  return {
    url: `${base}/mcp`,
    sdkUrl: `${base}/sdk`,
    store,
    registry,
    catalog: live,
    door: doors['/mcp'],
    errors,
    revoked,
    close,
  };
}
