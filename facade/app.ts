import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Door } from '../resources/audit-entry.ts';
import type { Principal } from '../tools/access/principal.ts';
import { ToolError, toToolError } from '../tools/errors.ts';
import type { Registry } from '../tools/registry.ts';
import type { Authenticator } from './authenticate.ts';
import { readBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { Guards } from './guards.ts';
import type { McpDoor } from './mcp.ts';
import { createOpenApi } from './openapi.ts';
import { sendError, sendJson } from './respond.ts';
import { createRestDoor } from './rest.ts';

export interface AppOptions {
  readonly registry: Registry;
  readonly mcp: McpDoor;
  readonly authenticator: Authenticator;
  readonly guards: Guards;
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
  readonly rateLimitPerMinute: number;
  readonly logger: Logger;
}

/** The Express app: request id, guards, authentication and rate limit for all doors, then the door of the path. */
export function createApp(options: AppOptions): Express {
  const { registry, mcp, authenticator, guards, logger } = options;
  const serveRest = createRestDoor(registry);
  const openApi = createOpenApi(registry.server, options.baseUrl);
  const limit = createLimit(options.rateLimitPerMinute);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = requestIdOf(request);
    response.setHeader('X-Request-Id', requestId);
    try {
      guards.check(request);
      const principal = await authenticator.authenticate(request);
      await limit(principal, response);
      await route(new HttpExchange(request, response, requestId, principal, authenticator));
    } catch (thrown) {
      fail(response, toToolError(thrown), requestId);
    }
  }

  async function route(exchange: Exchange): Promise<void> {
    const { request, response, url } = exchange;
    if (url.pathname === MCP_PATH && request.method === 'POST') return mcp.serve(exchange, await readBody(request));
    if (url.pathname === MCP_PATH && wantsOnlyEvents(request)) {
      response.setHeader('Allow', 'POST');
      throw new ToolError('method_not_allowed', 'This server opens no stream by GET; POST to this path.');
    }
    if (url.pathname === OPENAPI_PATH && request.method === 'GET') return sendJson(response, 200, openApi);
    return serveRest(exchange);
  }

  function fail(response: ServerResponse, error: ToolError, requestId: string): void {
    if (error.code === 'internal') logger.error({ requestId, cause: error.cause }, 'request failed');
    if (response.headersSent) response.destroy();
    else sendError(response, error, requestId);
  }

  const app = express();
  app.disable('x-powered-by').set('etag', false).set('query parser', false);
  if (options.allowedOrigins.length > 0) app.use('/api', cors(corsOptions(options.allowedOrigins)));
  if (logger.isLevelEnabled('debug')) app.use(requestLog(logger));
  app.use('/api', serve);
  app.use((request: IncomingMessage, response: ServerResponse) => {
    const message = 'There is nothing here; the API is below /api/v1.';
    sendError(response, new ToolError('not_found', message), requestIdOf(request));
  });
  return app;
}

const MCP_PATH = '/api/v1/mcp';
const OPENAPI_PATH = '/api/v1/openapi';

class HttpExchange implements Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly principal: Principal;
  readonly url: URL;
  readonly #authenticator: Authenticator;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    principal: Principal,
    authenticator: Authenticator,
  ) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.principal = principal;
    this.url = parseUrl(request);
    this.#authenticator = authenticator;
  }

  /** The stdio door and the dashboard reach the server over MCP and say who they are; it is a label and gives no rights. */
  get door(): Door {
    const said = this.request.headers['x-agent-admin-door'];
    return said === 'stdio' || said === 'dashboard' ? said : 'mcp';
  }

  stillValid(): Promise<boolean> {
    return this.#authenticator.stillValid(this.request);
  }
}

function parseUrl(request: IncomingMessage & { originalUrl?: string }): URL {
  try {
    return new URL(`http://localhost${request.originalUrl ?? request.url ?? ''}`);
  } catch {
    throw new ToolError('not_found', 'The path is malformed.');
  }
}

/** An incoming id is kept where it is short and plain, so that it can be searched for in logs. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

function wantsOnlyEvents({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.trim() === 'text/event-stream';
}

function createLimit(callsPerMinute: number) {
  if (callsPerMinute === 0) return () => undefined;
  const limiter = new RateLimiterMemory({ points: callsPerMinute, duration: 60 });
  return async ({ id }: Principal, response: ServerResponse): Promise<void> => {
    try {
      await limiter.consume(id);
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      const seconds = Math.ceil(refused.msBeforeNext / 1000);
      response.setHeader('Retry-After', seconds);
      throw new ToolError(
        'rate_limited',
        `More than ${callsPerMinute} calls a minute; try again in ${seconds} seconds.`,
      );
    }
  };
}

function corsOptions(origins: readonly string[]): cors.CorsOptions {
  return {
    origin: [...origins],
    credentials: true,
    exposedHeaders: ['X-Request-Id', 'Idempotency-Replayed', 'Retry-After', 'WWW-Authenticate'],
  };
}

function requestLog(logger: Logger) {
  return ({ method, url }: IncomingMessage, response: ServerResponse, next: () => void) => {
    const started = performance.now();
    response.on('finish', () => {
      const [path] = (url ?? '').split('?');
      const requestId = response.getHeader('X-Request-Id');
      const durationMs = Math.round(performance.now() - started);
      logger.debug({ requestId, method, path, status: response.statusCode, durationMs }, 'request');
    });
    next();
  };
}
