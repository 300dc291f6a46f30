import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import { ToolError } from '../tools/core/errors.ts';
import type { Registry } from '../tools/core/registry/registry.ts';
import { PROMETHEUS_TYPE } from '../tools/core/telemetry/prometheus.ts';
import type { Issuer } from '../tools/sign-in/issuer.ts';
import type { GuidePages } from './guides/pages.ts';
import { proxyTest } from './http/caller-address.ts';
import { createDoor, type DoorOptions } from './http/door.ts';
import type { ApiEndpoint, Endpoint, OpenEndpoint } from './http/endpoint.ts';
import { KeptBody } from './http/kept-body.ts';
import { requireKnown } from './http/known-query.ts';
import { browserAccess, requestLog, type Step } from './http/middleware.ts';
import { requestIdOf } from './http/native-prototypes.ts';
import type { Readiness } from './http/readiness.ts';
import { sendError, sendErrorBody } from './http/respond.ts';
import type { SessionCookies } from './http/session-cookie.ts';
import { MCP_PATH, mcpEndpoints } from './mcp/endpoints.ts';
import type { McpDoor } from './mcp/mcp.ts';
import type { OAuth } from './oauth/oauth.ts';
import { createOpenApi } from './openapi/openapi.ts';
import { restEndpoints } from './rest/rest.ts';
import { metricsRoute } from './routes.ts';

export interface AppOptions extends Omit<DoorOptions, 'endpoints'> {
  readonly registry: Registry;
  readonly mcp: McpDoor;
  readonly cookies: SessionCookies;
  readonly readiness: Readiness;
  /** Serves paths that are no endpoint. Passes on unknown paths. */
  readonly pages: (request: IncomingMessage, response: ServerResponse, next: () => void) => Promise<void> | void;
  readonly guides: GuidePages;
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  /** Gives MCP clients access tokens. Undefined: nobody does. */
  readonly authorization: OAuth | undefined;
}

/** What answers each request, and the Express app among it. */
interface App {
  readonly express: Express;
  readonly answer: RequestListener;
}

/** Every request takes the same way: log and CORS where they are wanted, then the door with all endpoints, then the pages. */
export function createApp(options: AppOptions): App {
  const pages = createPagesApp(options);
  const door = createDoor({ ...options, endpoints: endpointsOf(options) }, pages);
  const { logger, allowedOrigins } = options;
  const steps: Step[] = [];
  if (logger.isLevelEnabled('debug')) steps.push(requestLog(logger));
  if (allowedOrigins.length > 0) steps.push(browserAccess(allowedOrigins));
  return { express: pages, answer: steps.reduceRight(before, door) };
}

function before(next: RequestListener, step: Step): RequestListener {
  return (request, response) => step(request, response, () => next(request, response));
}

function createPagesApp({ pages, trustedProxies, onUncaught }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by').set('etag', false).set('query parser', false);
  app.set('trust proxy', proxyTest(trustedProxies));
  app.use(pages);
  app.use((_: IncomingMessage, response: ServerResponse) => {
    const message = 'There is nothing here; the API is below /api/v1.';
    sendError(response, new ToolError('not_found', message), requestIdOf(response));
  });
  // Express knows by its four parameters that it takes errors.
  app.use((error: unknown, _: IncomingMessage, response: ServerResponse, _next: unknown) =>
    onUncaught(error, response),
  );
  return app;
}

function endpointsOf(options: AppOptions): Endpoint[] {
  const { registry, mcp, cookies, readiness, baseUrl, signIn, authorization, guides } = options;
  const rest = restEndpoints({ registry, cookies });
  const isMcpStatus = ({ path }: ApiEndpoint) => path === MCP_PATH;
  return [
    ...rest.filter((endpoint) => !isMcpStatus(endpoint)),
    ...rest.filter(isMcpStatus).flatMap((status) => mcpEndpoints(registry, mcp, status)),
    openApiEndpoint(registry, baseUrl),
    metricsEndpoint(registry),
    keysEndpoint(signIn.issuer),
    readiness.endpoint,
    ...guides.endpoints,
    ...(authorization?.endpoints ?? []),
  ];
}

function openApiEndpoint({ server }: Registry, baseUrl: string): ApiEndpoint {
  let document: KeptBody | undefined; // made when it is first asked for, as it would take a fifth of a start
  return {
    method: 'GET',
    path: '/api/v1/openapi',
    async serve({ url, response }) {
      requireKnown(url, []);
      document ??= new KeptBody(Buffer.from(JSON.stringify(createOpenApi(server, baseUrl))));
      document.send(response, 'application/json; charset=utf-8');
    },
  };
}

/** What Prometheus asks for. It is a call like any other, with another form of answer. */
function metricsEndpoint(registry: Registry): ApiEndpoint {
  const { method, path, tool } = metricsRoute;
  return {
    method,
    path,
    async serve(exchange) {
      const { url, response, principal, requestId } = exchange;
      requireKnown(url, []);
      const renewed = () => exchange.renewed();
      const answer = await registry.call({ principal, tool, input: {}, door: 'rest', requestId, renewed });
      if (!answer.ok) return sendErrorBody(response, answer.error, answer);
      const { text } = answer.output as { readonly text: string }; // as the tool declares it
      response.writeHead(200, { 'Content-Type': PROMETHEUS_TYPE, 'Cache-Control': 'no-store' }).end(text);
    },
  };
}

/** The keys by which others check our ID tokens. */
function keysEndpoint(issuer: Issuer): OpenEndpoint {
  return {
    open: true,
    method: 'GET',
    path: '/.well-known/jwks.json',
    serve(_, response) {
      response.writeHead(200, { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300' });
      response.end(JSON.stringify(issuer.jwks));
    },
  };
}
