import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { ToolError } from '../../tools/core/errors.ts';
import { addressOf } from '../http/caller-address.ts';
import type { OpenEndpoint } from '../http/endpoint.ts';
import type { Guards } from '../http/guards.ts';
import { requestIdOf } from '../http/native-prototypes.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';
import { targetOf } from '../http/target.ts';
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

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

interface Served {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** Called by programs, also in pages of any origin; else opened in a browser. */
  readonly isForPrograms: boolean;
  readonly answer: Answer;
}

/** What the protocol asks for: metadata, registration, authorization, tokens. */
export function createEndpoints(options: EndpointOptions): OpenEndpoint[] {
  const { guards, refused, logger, showProblem } = options;

  async function serve(served: Served, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { isForPrograms, answer } = served;
    try {
      guards.checkHost(request);
      if (isForPrograms && !openToPages(request, response)) return;
      requireMethod(served, request, response);
      await answer(request, response);
    } catch (thrown) {
      const problem = problemOf(thrown);
      if (problem.status === 500) logger.error({ requestId: requestIdOf(response), err: thrown }, 'request failed');
      if (problem.status === 429) refused.count(addressOf(request), 'rate_limited');
      if (response.headersSent) response.destroy();
      else if (isForPrograms) sendProblem(response, problem);
      else await showProblem(response, problem);
    }
  }

  return [...metadata(options), ...protocol(options)].map((served) => ({
    open: true,
    method: '*',
    path: served.path,
    serve: (request, response) => serve(served, request, response),
  }));
}

function requireMethod({ method }: Served, request: IncomingMessage, response: ServerResponse): void {
  if (request.method === method || (method === 'GET' && request.method === 'HEAD')) return;
  const methods = method === 'GET' ? 'HEAD, GET' : 'POST';
  response.setHeader('Allow', methods);
  throw new ToolError('method_not_allowed', `This path takes ${methods}.`);
}

function protocol({ requests }: EndpointOptions): Served[] {
  const post = { method: 'POST', isForPrograms: true } as const;
  const open = { method: 'GET', isForPrograms: false } as const;
  return [
    { path: paths.authorize, ...open, answer: (...each) => requests.authorize(...each) },
    { path: `${paths.authorize}/{id}`, ...open, answer: (...each) => requests.resume(...each) },
    { path: paths.token, ...post, answer: (...each) => requests.token(...each) },
    { path: paths.revoke, ...post, answer: (...each) => requests.revoke(...each) },
    { path: paths.register, ...post, answer: (...each) => requests.register(...each) },
  ];
}

/** Clients put the path of an address behind the well-known name; proxies that take the path of BASE_URL away may leave it there. */
function metadata({ addresses }: EndpointOptions): Served[] {
  const read = { method: 'GET', isForPrograms: true } as const;
  const server: Answer = (_, response) => sendDocument(response, authorizationServer(addresses));
  const resource: Answer = (request, response) => {
    const { pathname } = targetOf(request).url ?? { pathname: '' };
    const path = pathname.slice(PROTECTED_RESOURCE.length);
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
