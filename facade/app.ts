import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import express, { type Express, type Request, type Response } from 'express';
import type { Logger } from 'pino';
import type { Door } from '../resources/audit-entry.ts';
import type { Principal } from '../tools/access/principal.ts';
import { ToolError, toToolError } from '../tools/errors.ts';
import type { Registry } from '../tools/registry.ts';
import { type AdmissionOptions, createAdmission } from './admit.ts';
import { readBody } from './body.ts';
import { addressOf } from './caller-address.ts';
import { CAPSULE_MCP_PATH, type CapsuleDoor, capsuleAt } from './capsule-door.ts';
import type { Exchange } from './exchange.ts';
import type { McpDoor } from './mcp.ts';
import { createOpenApi } from './openapi.ts';
import { sendError, sendJson, sendJsonBytes } from './respond.ts';
import { createRestDoor } from './rest.ts';
import type { SessionCookies } from './session-cookie.ts';

export interface AppOptions extends AdmissionOptions {
  readonly mcp: McpDoor;
  readonly cookies: SessionCookies;
  readonly capsules: CapsuleDoor;
  /** What lies outside `/api`; hands on what is not there either. */
  readonly pages: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly logger: Logger;
}

/** The Express app: request id, guards, authentication and rate limit for all doors, then the door of the path. */
export function createApp(options: AppOptions): Express {
  const { registry, mcp, signIn, logger } = options;
  const openApi = Buffer.from(JSON.stringify(createOpenApi(registry.server, options.baseUrl)));
  const serveRest = createRestDoor({
    registry,
    cookies: options.cookies,
    others: [
      { method: 'POST', path: MCP_PATH, parameters: NARROWING, serve: serveMcp },
      { method: 'POST', path: CAPSULE_MCP_PATH, parameters: NARROWING, serve: serveMcp },
      {
        method: 'GET',
        path: CAPSULE_MCP_PATH,
        parameters: NARROWING,
        serve: async ({ response, principal }) => sendJson(response, 200, mcpStatus(registry, principal)),
      },
      {
        method: 'GET',
        path: OPENAPI_PATH,
        parameters: [],
        serve: async ({ response }) => sendJsonBytes(response, 200, openApi),
      },
    ],
    onError: (cause) => logger.error({ err: cause }, 'a credential could not be checked'),
  });
  const admit = createAdmission(options);

  async function serveMcp(exchange: Exchange): Promise<void> {
    return mcp.serve(exchange, await readBody(exchange.request));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = String(response.getHeader('X-Request-Id'));
    try {
      const principal = await admit(request);
      const exchange = new HttpExchange({ request, response, requestId, principal }, options);
      await options.capsules.requireAdmitted(exchange);
      await route(exchange);
    } catch (thrown) {
      fail(response, toToolError(thrown), requestId);
    }
  }

  async function route(exchange: Exchange): Promise<void> {
    if (exchange.request.method === 'GET' && isMcp(exchange.url) && wantsOnlyEvents(exchange.request)) {
      exchange.response.setHeader('Allow', 'POST');
      throw new ToolError('method_not_allowed', 'This server opens no stream by GET; POST to this path.');
    }
    return serveRest(exchange);
  }

  function fail(response: ServerResponse, error: ToolError, requestId: string): void {
    if (error.code === 'internal') logger.error({ requestId, err: error.cause }, 'request failed');
    if (response.headersSent) response.destroy();
    else sendError(response, error, requestId);
  }

  const app = express();
  app.disable('x-powered-by').set('etag', false).set('query parser', false);
  app.set('trust proxy', [...options.trustedProxies]);
  app.use(identify);
  if (options.allowedOrigins.length > 0) app.use('/api', browserAccess(options.allowedOrigins));
  if (logger.isLevelEnabled('debug')) app.use(requestLog(logger));
  app.use('/api', serve);
  app.get('/.well-known/jwks.json', (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300' });
    response.end(JSON.stringify(signIn.issuer.jwks));
  });
  app.use(options.pages);
  app.use((_: IncomingMessage, response: ServerResponse) => {
    const message = 'There is nothing here; the API is below /api/v1.';
    sendError(response, new ToolError('not_found', message), String(response.getHeader('X-Request-Id')));
  });
  return app;
}

const MCP_PATH = '/api/v1/mcp';
const OPENAPI_PATH = '/api/v1/openapi';
/** What narrows the list of tools at an MCP endpoint. */
const NARROWING = ['tools', 'groups', 'mode'];

type Doors = Pick<AppOptions, 'authenticator' | 'capsules'>;

class HttpExchange implements Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly principal: Principal;
  readonly url: URL;
  readonly #doors: Doors;

  constructor(parts: Pick<Exchange, 'request' | 'response' | 'requestId' | 'principal'>, doors: Doors) {
    this.request = parts.request;
    this.response = parts.response;
    this.requestId = parts.requestId;
    this.principal = parts.principal;
    this.url = parseUrl(parts.request);
    this.#doors = doors;
  }

  /** The stdio door and the dashboard reach the server over MCP and say who they are; it is a label and gives no rights. */
  get door(): Door {
    if (this.principal.type === 'capsule') return 'capsule';
    const said = this.request.headers['x-agent-admin-door'];
    if (said === 'dashboard' && this.principal.type === 'session') return 'dashboard';
    return said === 'stdio' ? 'stdio' : 'mcp';
  }

  async renewed(): Promise<Principal | undefined> {
    const { authenticator, capsules } = this.#doors;
    return capsules.stillAdmitted(await authenticator.renew(this.request), this.url);
  }

  beforeCall(): Promise<void> | undefined {
    return this.principal.type === 'capsule' ? this.#doors.capsules.use.beforeCall(this.principal.id) : undefined;
  }
}

function isMcp(url: URL): boolean {
  return url.pathname === MCP_PATH || capsuleAt(url) !== undefined;
}

/** What GET answers at the endpoint of a capsule. */
function mcpStatus(registry: Registry, principal: Principal) {
  const { name, version, protocolVersions } = registry.server;
  return { status: 'ok', name, version, protocolVersions, tools: registry.list(principal).length };
}

function parseUrl(request: IncomingMessage & { originalUrl?: string }): URL {
  const target = request.originalUrl ?? request.url ?? '';
  try {
    const url = new URL(target.startsWith('/') ? `http://localhost${target}` : target);
    // Else `/agents/../health` would be served as what it comes to.
    if (pathIn(target) === url.pathname) return url;
  } catch {
    // refused below
  }
  throw new ToolError('not_found', 'The path is malformed.');
}

/** The path as it was sent, also where proxies send whole addresses. */
function pathIn(target: string): string {
  const [address = ''] = target.split(/[?#]/, 1);
  return address.startsWith('/') ? address : address.slice(address.indexOf('/', address.indexOf('//') + 2));
}

/** An incoming id is kept where it is short and plain, so that it can be searched for in logs. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

function identify(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader('X-Request-Id', requestIdOf(request));
  next();
}

function wantsOnlyEvents({ headers }: IncomingMessage): boolean {
  const types = (headers.accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  return types.every((type) => type === 'text/event-stream');
}

/** CORS for the pages of these origins; requests of all others go on as if there were none. */
function browserAccess(origins: readonly string[]) {
  const allow = cors({
    origin: [...origins],
    credentials: true,
    exposedHeaders: ['X-Request-Id', 'Idempotency-Replayed', 'Retry-After', 'WWW-Authenticate'],
  });
  return (request: Request, response: Response, next: () => void): void => {
    const preflight = 'access-control-request-method' in request.headers;
    const known = origins.includes(request.headers.origin ?? '') && (request.method !== 'OPTIONS' || preflight);
    if (known) allow(request, response, next);
    else next();
  };
}

function requestLog(logger: Logger) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const started = performance.now();
    const { method, url } = request;
    // The connection tells it no more once it is closed.
    const address = addressOf(request);
    response.on('finish', () => {
      const [path] = (url ?? '').split('?');
      const requestId = response.getHeader('X-Request-Id');
      const durationMs = Math.round(performance.now() - started);
      logger.debug({ requestId, address, method, path, status: response.statusCode, durationMs }, 'request');
    });
    next();
  };
}
