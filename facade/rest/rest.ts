import { errorStatus } from '../../resources/error.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { CallEvent, Progress } from '../../tools/core/registry/call.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import type { Answer, Registry } from '../../tools/core/registry/registry.ts';
import type { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { challengeOf } from '../http/authenticate.ts';
import { type BodyKind, CREDENTIAL, decodeText, heavyTurn, jsonBody, readBody } from '../http/body.ts';
import { requireEndpoint } from '../http/endpoints.ts';
import type { Middleware } from '../http/middleware.ts';
import { tracedRequest } from '../http/observed-request.ts';
import type { Endpoint, RequestContext } from '../http/request-context.ts';
import { sendErrorBody, sendJson } from '../http/respond.ts';
import type { SessionCookies } from '../http/session-cookie.ts';
import { acceptedTypes } from '../http/target.ts';
import { approvalRoutes, fileRoutes, type Route, routes } from '../routes.ts';
import { FileBody, fieldReader, isFileBody, takesMany } from './file-body.ts';
import { type QueryReader, queryReader } from './query.ts';

interface RestOperation extends Route {
  readonly readQuery: QueryReader;
  readonly takesBody: boolean;
  readonly bodyKind: BodyKind;
  readonly endsSession: boolean;
  /** The call may take long and report events. */
  readonly inSteps: boolean;
  readonly isPending: Tool['isPending'];
  readonly tellsDown: Tool['tellsDown'];
  readonly streams: boolean;
  /** The body may be a file, with these fields. */
  readonly readFields: QueryReader | undefined;
  readonly takesMany: boolean;
}

export function restDoor(telemetry: Telemetry): Middleware {
  return (context) => {
    const endpoint = requireEndpoint(context);
    return tracedRequest(telemetry, context, endpoint.path, () => endpoint.serve(context));
  };
}

interface RestOptions {
  readonly registry: Registry;
  readonly cookies: SessionCookies;
}

/** The REST door: each operation collects the input of its tool, calls the tool, and answers with the status of its route. */
export function restEndpoints(options: RestOptions): Endpoint[] {
  return [...routes, ...fileRoutes, ...approvalRoutes].map((route) => {
    const operation = prepare(route, options.registry);
    return {
      method: route.method,
      path: route.path,
      webhook: route.tool === 'trigger_flow',
      signsIn: operation.bodyKind === CREDENTIAL,
      serve: (context) => callTool(options, context, operation),
    };
  });
}

async function callTool(
  { registry, cookies }: RestOptions,
  context: RequestContext,
  operation: RestOperation,
): Promise<void> {
  const { request, response, requestId, principal, parameters } = context;
  const idempotency = idempotencyOf(context);
  const live = operation.inSteps ? new RestCall(context, operation) : undefined;
  const { readFields } = operation;
  const file = readFields && isFileBody(request) ? new FileBody(context, readFields, operation.takesMany) : undefined;
  const call = registry.call({
    principal,
    tool: operation.tool,
    input: parameters,
    readInput: async () => {
      const input = await (file?.read() ?? readInput(context, operation));
      live?.choose(input);
      return input;
    },
    attached: () => file,
    door: 'rest',
    requestId,
    idempotency,
    client: request.headers['user-agent'],
    // A client that repeats a call asks for its answer again, so that call continues when its client goes away.
    signal: live && idempotency === undefined ? context.signal : undefined,
    approvalId: approvalIdOf(context),
    checkCredential: () => context.checkCredential(),
    onProgress: live?.onProgress,
  });
  const answer = await call.finally(() => file?.release());
  if (answer.replayed && !response.headersSent) response.setHeader('Idempotency-Replayed', 'true');
  if (live?.finish(answer)) return;
  if (!answer.ok) {
    const { approvalId } = answer.error;
    if (approvalId !== undefined) response.setHeader('Location', `/api/v1/approvals/${approvalId}`);
    if (answer.missingScopes) await context.challengeForScopes(answer.missingScopes);
    // The caller was authenticated when the request came. So the credential has ended since.
    const challenge = principal.type === 'anonymous' ? {} : challengeOf(request);
    return sendErrorBody(response, answer.error, { ...answer, ...challenge });
  }
  if (answer.began) cookies.set(response, answer.began);
  if (operation.endsSession) cookies.clear(response);
  if (operation.status === 204) response.writeHead(204, { 'Cache-Control': 'no-store' }).end();
  else sendJson(response, statusOf(operation, answer.output), answer.output);
}

function prepare(route: Route, { server }: Registry): RestOperation {
  const tool: Tool | undefined = server.catalog.get(route.tool)?.tool;
  if (!tool) throw new Error(`The route ${route.method} ${route.path} names no tool of the catalog.`);
  return {
    ...route,
    readQuery: queryReader(tool.input),
    takesBody: route.method !== 'GET',
    bodyKind: tool.session === 'begins' ? CREDENTIAL : jsonBody(() => tool.bulk === true),
    endsSession: tool.session === 'ends',
    inSteps: tool.inSteps === true,
    isPending: tool.isPending,
    tellsDown: tool.tellsDown,
    streams: tool.streams === true,
    takesMany: takesMany(tool.input),
    readFields: fileRoutes.includes(route) || takesMany(tool.input) ? fieldReader(tool.input) : undefined,
  };
}

/** Work that was to continue after the answer may have ended before the answer. */
function statusOf({ status, isPending, tellsDown }: RestOperation, output: object): number {
  if (tellsDown?.(output)) return errorStatus.unavailable;
  return status === 202 && isPending && !isPending(output) ? 200 : status;
}

async function readInput(
  context: RequestContext,
  { readQuery, takesBody, bodyKind, method }: RestOperation,
): Promise<object> {
  const { url, parameters } = context;
  const hasQuery = url.search !== '' && url.searchParams.size > 0;
  if (!takesBody && !hasQuery) return parameters;
  const body = takesBody ? parseBody(await readBody(context, bodyKind)) : undefined;
  const turn = body && heavyTurn(context);
  if (turn) await turn;
  if (body && method !== 'DELETE' && hasQuery) {
    throw new ToolError('invalid_input', 'This operation takes no query parameters; put the fields into the body.');
  }
  const query = hasQuery ? readQuery(url.searchParams) : {};
  requireOnce(query, body ?? {}, parameters);
  return withMembers(body ?? {}, { ...query, ...parameters });
}

/** @throws ToolError if a member is given in two places */
function requireOnce(query: object, body: object, parameters: object): void {
  const twice = Object.keys(query).find((name) => Object.hasOwn(body, name));
  if (twice !== undefined)
    throw new ToolError('invalid_input', `${twice} is given in the query and in the body; give it once.`);
  const repeated = Object.keys(parameters).filter((name) => Object.hasOwn(query, name) || Object.hasOwn(body, name));
  if (repeated.length > 0) {
    const issues = repeated.map((path) => ({ path, message: 'Is given by the path; leave it out here.' }));
    throw new ToolError('invalid_input', `${repeated[0]}: is given by the path; leave it out elsewhere.`, { issues });
  }
}

/** The body, which can be large, is not copied: the other members are added to it. */
function withMembers(body: object, others: Readonly<Record<string, unknown>>): object {
  for (const [name, value] of Object.entries(others)) {
    // A query can name `__proto__`. An assignment would set the prototype instead of a member.
    Object.defineProperty(body, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return body;
}

function parseBody(body: Buffer): object {
  if (body.length === 0) return {};
  const text = decodeText(body);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ToolError('invalid_input', 'The body is not valid JSON.');
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new ToolError('invalid_input', 'The body must be a JSON object.');
}

function idempotencyOf({ request, url }: RequestContext) {
  const key = request.headers['idempotency-key'];
  if (request.method !== 'POST' || typeof key !== 'string') return undefined;
  return { key, operation: `POST ${url.pathname}` };
}

/** The approval that the caller names for the call. Without one, that of an equal call counts. */
function approvalIdOf({ request }: RequestContext): string | undefined {
  const id = request.headers['approval-id'];
  return typeof id === 'string' ? id.slice(0, 200) : undefined;
}

const HEARTBEAT_MS = 15_000;

/** A REST call that may take long. Its stream begins with the first event, so a call refused before has the status of its error. */
class RestCall {
  readonly #context: RequestContext;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #streams: boolean;
  #wanted: boolean;

  constructor(context: RequestContext, { streams }: { readonly streams: boolean }) {
    const { request, response } = context;
    this.#context = context;
    this.#streams = streams;
    this.#wanted = streams && prefersEvents(request.headers.accept);
    response.once('close', () => clearInterval(this.#heartbeat));
  }

  /** `stream` in the input counts more than the header. */
  choose({ stream }: { readonly stream?: unknown }): void {
    if (typeof stream === 'boolean') this.#wanted = this.#streams && stream;
  }

  readonly onProgress = ({ event }: Progress): void => {
    if (event && this.#wanted) this.#send(event);
  };

  /** Ends the context where it is a stream. False: the caller must send the answer. */
  finish(answer: Answer): boolean {
    clearInterval(this.#heartbeat);
    const { response } = this.#context;
    if (response.destroyed) return true;
    if (!response.headersSent && !(answer.ok && this.#wanted)) return false;
    this.#send(answer.ok ? { name: 'final', data: answer.output } : { name: 'error', data: answer.error });
    clearInterval(this.#heartbeat);
    response.end();
    return true;
  }

  #send({ name, data }: CallEvent): void {
    const { response } = this.#context;
    if (response.destroyed) return;
    if (!response.headersSent) this.#open();
    response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #open(): void {
    const { response } = this.#context;
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no', // for proxies that collect an answer before they pass it on
      'X-Content-Type-Options': 'nosniff',
    });
    this.#heartbeat = setInterval(() => response.write(': waiting\n\n'), HEARTBEAT_MS);
  }
}

/** A client that accepts JSON too gets JSON, unless its input asks for a stream. */
function prefersEvents(accept: string | undefined): boolean {
  const types = acceptedTypes(accept);
  return types.includes('text/event-stream') && !types.includes('application/json');
}
