import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import { ToolError } from '../tools/core/errors.ts';
import type { Registry } from '../tools/core/registry/registry.ts';
import { PROMETHEUS_TYPE } from '../tools/core/telemetry/prometheus.ts';
import type { Telemetry } from '../tools/core/telemetry/telemetry.ts';
import type { Issuer } from '../tools/sign-in/issuer.ts';
import { proxyTest } from './config/trusted-proxies.ts';
import { type AdmissionOptions, authenticate, confine } from './http/admit.ts';
import type { OnUncaught } from './http/answer-errors.ts';
import { answerErrors, type ErrorOptions } from './http/answer-errors.ts';
import { CompressedPrefix } from './http/compressed-prefix.ts';
import { findEndpoint, mcpDoor, openDoor, requireKnownParameters } from './http/endpoints.ts';
import { belowApi, browserAccess, type Middleware, requestLog, toExpress } from './http/middleware.ts';
import { measureRequests } from './http/observed-request.ts';
import type { Readiness } from './http/readiness.ts';
import type { Endpoint } from './http/request-context.ts';
import { sendError, sendErrorBody } from './http/respond.ts';
import type { SessionCookies } from './http/session-cookie.ts';
import type { WebhookDoor } from './http/webhook-door.ts';
import { MCP_PATH, mcpEndpoints } from './mcp/endpoints.ts';
import type { McpEndpoint } from './mcp/mcp.ts';
import type { OAuth } from './oauth/oauth.ts';
import { openAiEndpoints } from './openai/endpoints.ts';
import { createOpenApi } from './openapi/openapi.ts';
import { restDoor, restEndpoints } from './rest/rest.ts';
import { documentFileEndpoint, threadFileEndpoint } from './rest/stored-file.ts';
import { metricsRoute } from './routes.ts';

export interface AppOptions extends AdmissionOptions, ErrorOptions {
  readonly registry: Registry;
  readonly mcp: McpEndpoint;
  readonly webhooks: WebhookDoor;
  readonly cookies: SessionCookies;
  readonly readiness: Readiness;
  readonly telemetry: Telemetry;
  /** Serve paths that are not endpoints, and pass on unknown paths. */
  readonly pages: readonly Middleware[];
  readonly guides: readonly Endpoint[];
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  /** Gives MCP clients access tokens. Undefined: nobody does. */
  readonly authorization: OAuth | undefined;
  readonly onUncaught: OnUncaught;
}

interface App {
  readonly express: Express;
  readonly answer: RequestListener;
}

/** The way of every request, from above to below. Each step answers it or passes it on. */
export function createApp(options: AppOptions): App {
  const { logger, allowedOrigins, telemetry, webhooks, capsules, pages } = options;
  const app = express();
  app.disable('x-powered-by').set('etag', false).set('query parser', false);
  app.set('trust proxy', proxyTest(options.trustedProxies));
  if (logger.isLevelEnabled('debug')) app.use(toExpress(requestLog(logger)));
  if (allowedOrigins.length > 0) app.use(toExpress(browserAccess(allowedOrigins)));
  const steps: readonly Middleware[] = [
    findEndpoint(endpointsOf(options)),
    measureRequests(telemetry),
    openDoor, // OAuth and its metadata, keys, readiness, guides
    belowApi(webhooks.serve), // deliveries that are signed with the secret of a flow
    belowApi(authenticate(options)), // 401, 403, 429
    belowApi(confine(capsules)), // tokens of capsules and connected apps open one MCP address
    belowApi(mcpDoor),
    belowApi(restDoor(telemetry)), // 404, 405
    ...pages, // sign-in and the dashboard
  ];
  app.use(steps.map(toExpress));
  app.use(answerErrors(options));
  return { express: app, answer: (request, response) => handle(app, request, response, options) };
}

/** Express comes back with errors that no step answers, and with requests that none takes. */
function handle(app: Express, request: IncomingMessage, response: ServerResponse, { onUncaught }: AppOptions): void {
  // Requests and responses have the prototypes of Express from birth.
  app(request as Request, response as Response, (error?: unknown) => {
    if (error) onUncaught(error, response);
    else sendError(response, new ToolError('not_found', 'There is nothing here; the API is below /api/v1.'));
  });
}

function endpointsOf(options: AppOptions): Endpoint[] {
  const { registry, mcp, cookies, readiness, baseUrl, signIn, authorization, guides } = options;
  const rest = restEndpoints({ registry, cookies });
  const isMcpStatus = ({ path }: Endpoint) => path === MCP_PATH;
  return [
    ...rest.filter((endpoint) => !isMcpStatus(endpoint)),
    ...rest.filter(isMcpStatus).flatMap((status) => mcpEndpoints(registry, mcp, status)),
    openApiEndpoint(registry, baseUrl),
    metricsEndpoint(registry),
    documentFileEndpoint(registry),
    threadFileEndpoint(registry),
    ...openAiEndpoints(registry),
    keysEndpoint(signIn.issuer),
    readiness.endpoint,
    ...guides,
    ...(authorization?.endpoints ?? []),
  ];
}

function openApiEndpoint({ server }: Registry, baseUrl: string): Endpoint {
  let document: CompressedPrefix | undefined; // made when it is first asked for, as it would take a fifth of a start
  return {
    method: 'GET',
    path: '/api/v1/openapi',
    async serve({ url, response }) {
      requireKnownParameters(url, []);
      document ??= new CompressedPrefix(Buffer.from(JSON.stringify(createOpenApi(server, baseUrl))));
      document.send(response, 'application/json; charset=utf-8');
    },
  };
}

/** What Prometheus asks for. It is a call like any other, with another form of answer. */
function metricsEndpoint(registry: Registry): Endpoint {
  const { method, path, tool } = metricsRoute;
  return {
    method,
    path,
    async serve(context) {
      const { url, response, principal, requestId } = context;
      requireKnownParameters(url, []);
      const checkCredential = () => context.checkCredential();
      const answer = await registry.call({ principal, tool, input: {}, door: 'rest', requestId, checkCredential });
      if (!answer.ok) return sendErrorBody(response, answer.error, answer);
      const { text } = answer.output as { readonly text: string }; // as the tool declares it
      response.writeHead(200, { 'Content-Type': PROMETHEUS_TYPE, 'Cache-Control': 'no-store' }).end(text);
    },
  };
}

function keysEndpoint(issuer: Issuer): Endpoint {
  return {
    open: true,
    method: 'GET',
    path: '/.well-known/jwks.json',
    serve({ response }) {
      response.writeHead(200, { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300' });
      response.end(JSON.stringify(issuer.jwks));
    },
  };
}
