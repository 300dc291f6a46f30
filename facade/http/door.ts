import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Principal } from '../../tools/core/access/principal.ts';
import { ToolError, toToolError } from '../../tools/core/errors.ts';
import type { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import type { CapsuleDoor } from '../mcp/capsule-door.ts';
import { isBrowsing } from './accept.ts';
import { type AdmissionOptions, createAdmission } from './admit.ts';
import { signInChallenge } from './challenge.ts';
import type { Connections } from './connections.ts';
import type { ApiEndpoint, Endpoint, OpenEndpoint } from './endpoint.ts';
import { HttpExchange } from './http-exchange.ts';
import { requestIdOf } from './native-prototypes.ts';
import { requestMeasure, tracedRequest } from './observed-request.ts';
import { sendError } from './respond.ts';
import { allowed, createMatcher, type Match } from './router.ts';
import { isBelowApi, type Target, targetOf } from './target.ts';
import type { OnUncaught } from './uncaught.ts';
import type { WebhookDoor } from './webhook-door.ts';

export interface DoorOptions extends AdmissionOptions {
  readonly endpoints: readonly Endpoint[];
  readonly capsules: CapsuleDoor;
  readonly webhooks: WebhookDoor;
  /** Receives the connections on which a caller was authenticated. */
  readonly connections: Pick<Connections, 'admit'>;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly onUncaught: OnUncaught;
  /** Receives the id of each connected app that was answered with a request for more scopes. */
  onStepUp?(app: string): Promise<void> | undefined;
  /** Answers a person who opens an MCP address in a browser. The challenge is among the headers already. */
  showAddress(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

type Found = Match<Endpoint> | undefined;

/** Answers at every endpoint and at all other paths below `/api`. Passes the rest on. */
export function createDoor(options: DoorOptions, elsewhere: RequestListener): RequestListener {
  const match = createMatcher(options.endpoints);
  const admit = createAdmission(options);
  const measure = requestMeasure(options.telemetry);
  const { capsules, connections, webhooks } = options;

  /** Finds who calls before it says anything about the path. */
  async function serveApi(request: IncomingMessage, response: ServerResponse, { url }: Target, found: Found) {
    const endpoint = found?.target && asApi(found.target);
    const { id } = found?.parameters ?? {};
    if (endpoint?.webhook && id !== undefined && webhooks.takes(request)) return webhooks.serve(request, response, id);
    const principal = await admit(request, endpoint?.signsIn === true);
    if (principal.type !== 'anonymous') connections.admit(request);
    if (!url) throw new ToolError('not_found', 'The path is malformed.');
    const capsuleId = found && capsuleOf(found);
    const requestId = requestIdOf(response);
    const exchange = new HttpExchange({ request, response, requestId, principal, url, capsuleId }, options);
    // Which methods the address of a capsule takes is the same for every caller.
    if (found && !endpoint && capsuleId !== undefined) throw wrongMethod(response, found);
    if (CONFINED.includes(principal.type) || capsuleId !== undefined) await capsules.requireAdmitted(exchange);
    if (!found) {
      throw new ToolError('not_found', 'There is nothing at this path; GET /api/v1/openapi lists every path.');
    }
    if (!endpoint) throw wrongMethod(response, found);
    if (endpoint.mcp) return endpoint.serve(exchange, found.parameters);
    await tracedRequest(options.telemetry, exchange, endpoint.path, () => endpoint.serve(exchange, found.parameters));
  }

  return (request, response) => {
    const target = targetOf(request);
    const found = target.url && match(request.method ?? '', target.url.pathname);
    const isOpen = found?.here[0].open === true;
    if (!isOpen && !isBelowApi(target)) return elsewhere(request, response);
    measure(request, response, found?.target ?? found?.here[0]);
    const served = isOpen ? serveOpen(request, response, found) : serveApi(request, response, target, found);
    served
      .catch((thrown) => fail({ request, response, found }, thrown, options))
      .catch((error) => options.onUncaught(error, response));
  };
}

/** Callers whose credential opens one MCP address alone. */
const CONFINED: readonly Principal['type'][] = ['capsule', 'app'];

async function serveOpen(request: IncomingMessage, response: ServerResponse, found: Match<Endpoint>): Promise<void> {
  const { target, parameters } = found;
  if (!target) throw wrongMethod(response, found);
  await (target as OpenEndpoint).serve(request, response, parameters); // the callers of this function have checked that
}

/** An open path is open for every method. */
function asApi(endpoint: Endpoint): ApiEndpoint {
  if (endpoint.open) throw new Error(`${endpoint.path} is open with some methods and not with others.`);
  return endpoint;
}

function capsuleOf({ here: [first], parameters }: Match<Endpoint>): string | undefined {
  return !first.open && first.mcp === 'capsule' ? parameters.id : undefined;
}

/** Whether it could be the address of an MCP endpoint: it is not said which capsules there are. */
function isMcpAddress({ here: [first], parameters }: Match<Endpoint>): boolean {
  if (first.open || first.mcp === undefined) return false;
  return first.mcp === 'unified' || /^cap_[0-9a-z]{26}$/.test(parameters.id ?? '');
}

function wrongMethod(response: ServerResponse, { here }: Match<Endpoint>): ToolError {
  const methods = allowed(here);
  response.setHeader('Allow', methods);
  return new ToolError('method_not_allowed', `This path takes ${methods}.`);
}

interface Failing {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly found: Found;
}

type Answering = Pick<DoorOptions, 'logger' | 'showAddress' | 'onUncaught'>;

function fail({ request, response, found }: Failing, thrown: unknown, answering: Answering): void {
  const { logger, showAddress } = answering;
  const requestId = requestIdOf(response);
  const error = toToolError(thrown);
  if (error.code === 'unauthenticated' && isBrowsing(request) && found && isMcpAddress(found)) {
    response.setHeader('WWW-Authenticate', signInChallenge(error.detail));
    const failing = { request, response, found: undefined };
    showAddress(request, response)
      .catch((failure) => fail(failing, failure, answering))
      .catch((error) => answering.onUncaught(error, response));
    return;
  }
  if (error.code === 'internal') logger.error({ requestId, err: error.cause }, 'request failed');
  if (response.headersSent) response.destroy();
  else sendError(response, error, requestId);
}
