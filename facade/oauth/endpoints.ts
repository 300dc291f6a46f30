import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { ToolError } from '../../tools/core/errors.ts';
import type { Guards } from '../http/guards.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';
import type { Endpoint, RequestContext } from '../http/request-context.ts';
import { CAPSULE_MCP_PATH, MCP_PATH } from '../mcp/endpoints.ts';
import { type Addresses, paths } from './addresses.ts';
import { openToPages, type Problem, problemOf, sendDocument, sendProblem } from './answers.ts';
import { authorizationServer, PROTECTED_RESOURCE, protectedResource } from './metadata.ts';
import type { Requests } from './requests.ts';

interface EndpointOptions {
  readonly addresses: Addresses;
  readonly guards: Guards;
  readonly refused: RefusedRequests;
  readonly logger: Logger;
  readonly requests: Requests;
  showProblem(response: ServerResponse, problem: Problem): Promise<void>;
}

type Answer = (context: RequestContext) => Promise<void> | void;

interface Served {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** Called by programs, also in pages of any origin; else opened in a browser. */
  readonly isForPrograms: boolean;
  readonly answer: Answer;
}

export function createEndpoints(options: EndpointOptions): Endpoint[] {
  const { guards, refused, logger, showProblem } = options;

  async function serve(served: Served, context: RequestContext): Promise<void> {
    const { isForPrograms, answer } = served;
    const { request, response, requestId } = context;
    try {
      guards.checkHost(request);
      if (isForPrograms && !openToPages(request, response)) return;
      requireMethod(served, context);
      await answer(context);
    } catch (thrown) {
      const problem = problemOf(thrown);
      if (problem.status === 500) logger.error({ requestId, err: thrown }, 'request failed');
      if (problem.status === 429) refused.count(context.address, 'rate_limited');
      if (response.headersSent) response.destroy();
      else if (isForPrograms) sendProblem(response, problem);
      else await showProblem(response, problem);
    }
  }

  return [...metadata(options), ...protocol(options)].map((served) => ({
    open: true,
    method: '*',
    path: served.path,
    serve: (context) => serve(served, context),
  }));
}

function requireMethod({ method }: Served, { request, response }: RequestContext): void {
  if (request.method === method || (method === 'GET' && request.method === 'HEAD')) return;
  const methods = method === 'GET' ? 'HEAD, GET' : 'POST';
  response.setHeader('Allow', methods);
  throw new ToolError('method_not_allowed', `This path takes ${methods}.`);
}

function protocol({ requests }: EndpointOptions): Served[] {
  const post = { method: 'POST', isForPrograms: true } as const;
  const open = { method: 'GET', isForPrograms: false } as const;
  return [
    { path: paths.authorize, ...open, answer: (context) => requests.authorize(context) },
    { path: `${paths.authorize}/{id}`, ...open, answer: (context) => requests.resume(context) },
    { path: paths.token, ...post, answer: (context) => requests.token(context) },
    { path: paths.revoke, ...post, answer: (context) => requests.revoke(context) },
    { path: paths.register, ...post, answer: (context) => requests.register(context) },
  ];
}

/** Clients put the path of an address behind the well-known name; proxies that take the path of BASE_URL away may leave it there. */
function metadata({ addresses }: EndpointOptions): Served[] {
  const read = { method: 'GET', isForPrograms: true } as const;
  const server: Answer = ({ response }) => sendDocument(response, authorizationServer(addresses));
  const resource: Answer = ({ request, response, url }) => {
    const path = url.pathname.slice(PROTECTED_RESOURCE.length);
    const below = path.startsWith(`${addresses.prefix}/`) ? path.slice(addresses.prefix.length) : path;
    const found = below === '' || below === addresses.prefix ? addresses.unified : addresses.resourceAt(below);
    if (!found) throw new ToolError('not_found', 'There is no such resource; capsules have ids like cap_01h….');
    sendDocument(response, protectedResource(addresses, found, addresses.originFor(request)));
  };
  return [...new Set(['', addresses.prefix])].flatMap((prefix) => [
    { path: `/.well-known/oauth-authorization-server${prefix}`, ...read, answer: server },
    { path: `/.well-known/openid-configuration${prefix}`, ...read, answer: server },
    ...['', MCP_PATH, CAPSULE_MCP_PATH].map((path) => ({
      path: `${PROTECTED_RESOURCE}${prefix}${path}`,
      ...read,
      answer: resource,
    })),
  ]);
}
