import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import type { Principal } from '../tools/access/principal.ts';
import { ToolError, toToolError } from '../tools/registry/errors.ts';
import type { Registry } from '../tools/registry/registry.ts';
import { namesEvents } from './http/accept.ts';
import { type AdmissionOptions, createAdmission } from './http/admit.ts';
import { readBody } from './http/body.ts';
import { proxyTest } from './http/caller-address.ts';
import type { Connections } from './http/connections.ts';
import type { Exchange } from './http/exchange.ts';
import { HttpExchange } from './http/http-exchange.ts';
import { KeptBody } from './http/kept-body.ts';
import { browserAccess, requestLog } from './http/middleware.ts';
import { requestIdOf } from './http/native-prototypes.ts';
import { sendError, sendJson } from './http/respond.ts';
import type { SessionCookies } from './http/session-cookie.ts';
import { CAPSULE_MCP_PATH, type CapsuleDoor, capsuleAt } from './mcp/capsule-door.ts';
import type { McpDoor } from './mcp/mcp.ts';
import { createOpenApi } from './openapi/openapi.ts';
import { createRestDoor, type OtherRoute } from './rest/rest.ts';

export interface AppOptions extends AdmissionOptions {
  readonly mcp: McpDoor;
  readonly cookies: SessionCookies;
  /** Is told which connections have authenticated somebody. */
  readonly connections: Pick<Connections, 'admit'>;
  readonly capsules: CapsuleDoor;
  /** Serves the paths outside `/api`. Passes on unknown paths. */
  readonly pages: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly logger: Logger;
}

/** The Express app, and what answers each request. */
export interface App {
  readonly express: Express;
  readonly answer: RequestListener;
}

/** Guards, authentication and rate limit for all doors, then the door that the path belongs to. */
export function createApp(options: AppOptions): App {
  const { signIn, logger } = options;
  const app = express();
  const api = createApi(options);
  app.disable('x-powered-by').set('etag', false).set('query parser', false);
  app.set('trust proxy', proxyTest(options.trustedProxies));
  const isOpenToPages = options.allowedOrigins.length > 0;
  const logsRequests = logger.isLevelEnabled('debug');
  if (isOpenToPages) app.use('/api', browserAccess(options.allowedOrigins));
  if (logsRequests) app.use(requestLog(logger));
  app.use('/api', api);
  app.get('/.well-known/jwks.json', (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300' });
    response.end(JSON.stringify(signIn.issuer.jwks));
  });
  app.use(options.pages);
  app.use((_: IncomingMessage, response: ServerResponse) => {
    const message = 'There is nothing here; the API is below /api/v1.';
    sendError(response, new ToolError('not_found', message), requestIdOf(response));
  });
  return { express: app, answer: isOpenToPages || logsRequests ? app : pastRouter(api, app) };
}

/** Express's router costs a tenth of a short call, and the API has its own. */
function pastRouter(api: RequestListener, app: Express): RequestListener {
  return (request, response) => (request.url?.startsWith('/api/') ? api : app)(request, response);
}

/** Everything below `/api`: finds the caller, then the door that the path belongs to. */
function createApi(options: AppOptions) {
  const { registry, cookies, capsules, connections, logger } = options;
  const serveRest = createRestDoor({ registry, cookies, others: otherRoutes(options) });
  const admit = createAdmission(options);

  async function answer(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const principal = await admit(request);
    if (principal.type !== 'anonymous') connections.admit(request);
    const exchange = new HttpExchange({ request, response, requestId, principal }, options);
    await capsules.requireAdmitted(exchange);
    // Clients that open a stream by GET accept JSON too. They understand a 405 to mean that there is no such stream.
    if (isRead(request) && isMcp(exchange.url) && namesEvents(request.headers.accept)) {
      response.setHeader('Allow', 'POST');
      throw new ToolError('method_not_allowed', 'This server opens no stream by GET; POST to this path.');
    }
    await serveRest(exchange);
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = requestIdOf(response);
    try {
      await answer(request, response, requestId);
    } catch (thrown) {
      const error = toToolError(thrown);
      if (error.code === 'internal') logger.error({ requestId, err: error.cause }, 'request failed');
      if (response.headersSent) response.destroy();
      else sendError(response, error, requestId);
    }
  };
}

const MCP_PATH = '/api/v1/mcp';
const OPENAPI_PATH = '/api/v1/openapi';
/** The query parameters that narrow the list of tools at an MCP endpoint. */
const NARROWING = ['tools', 'groups', 'mode'];

/** The paths below `/api` that are no tool calls. */
function otherRoutes({ registry, mcp, baseUrl }: AppOptions): OtherRoute[] {
  const openApi = new KeptBody(Buffer.from(JSON.stringify(createOpenApi(registry.server, baseUrl))));
  const serveMcp = (exchange: Exchange) => mcp.serve(exchange, readBody(exchange.request));
  const serveStatus = async ({ response, principal }: Exchange) =>
    sendJson(response, 200, mcpStatus(registry, principal));
  const serveOpenApi = async ({ response }: Exchange) => openApi.send(response, 'application/json; charset=utf-8');
  return [
    { method: 'POST', path: MCP_PATH, parameters: NARROWING, serve: serveMcp },
    { method: 'POST', path: CAPSULE_MCP_PATH, parameters: NARROWING, serve: serveMcp },
    { method: 'GET', path: CAPSULE_MCP_PATH, parameters: NARROWING, serve: serveStatus },
    { method: 'GET', path: OPENAPI_PATH, parameters: [], serve: serveOpenApi },
  ];
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function isMcp(url: URL): boolean {
  return url.pathname === MCP_PATH || capsuleAt(url) !== undefined;
}

/** The answer to GET at a capsule's endpoint. */
function mcpStatus(registry: Registry, principal: Principal) {
  const { name, version, protocolVersions } = registry.server;
  return { status: 'ok', name, version, protocolVersions, tools: registry.list(principal).length };
}
