import {
  classifyInboundRequest,
  createMcpHandler,
  INVALID_PARAMS,
  INVALID_REQUEST,
  InMemoryServerEventBus,
  isSpecType,
  type JSONRPCRequest,
  legacyStatelessFallback,
  type McpHttpHandler,
  ProtocolError,
  preloadSchemas,
  type Result,
  Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Progress } from '../tools/context.ts';
import type { Exchange } from './exchange.ts';
import { callTool, type Flight, readCallParams } from './mcp-calls.ts';
import { acceptsEvents, type DirectPathParts } from './mcp-direct.ts';
import {
  answerableId,
  isObject,
  isRequestId,
  malformed,
  type RequestId,
  RpcError,
  rpcErrorJson,
  toRpcError,
} from './mcp-message.ts';
import { sendWebResponse } from './mcp-streams.ts';
import { type Era, MODERN_VERSION, PROTOCOL_VERSIONS } from './mcp-versions.ts';
import { toolResult } from './mcp-wire.ts';

type SdkPathParts = Omit<DirectPathParts, 'writer'>;

/** One message on its way through the SDK. */
interface Visit {
  readonly exchange: Exchange;
  readonly flight: Flight;
  readonly request: Request;
  readonly message: unknown;
}

/** Serves every message of every revision through the official SDK, one low-level `Server` per request. */
export class SdkPath {
  readonly #parts: SdkPathParts;
  readonly #validator = new AjvJsonSchemaValidator();
  /** The SDK makes a server from no more than its request. */
  readonly #visits = new WeakMap<Request, Visit>();
  readonly #bus: InMemoryServerEventBus;
  readonly #modern: McpHttpHandler;
  /** Apart from the calls, so that closing ends the subscriptions and lets the calls finish. */
  readonly #subscriptions: McpHttpHandler;

  constructor(parts: SdkPathParts) {
    preloadSchemas();
    this.#parts = parts;
    this.#bus = new InMemoryServerEventBus(parts.onError);
    this.#modern = this.#createHandler();
    this.#subscriptions = this.#createHandler();
  }

  async serve(exchange: Exchange, message: unknown): Promise<void> {
    const { flights, onError } = this.#parts;
    const id = answerableId(message);
    const flight = flights.enter(exchange, id);
    const visit = { exchange, flight, message, request: webRequest(exchange, flight) };
    this.#visits.set(visit.request, visit);
    try {
      const answer = await this.#answer(visit).catch((thrown) => errorResponse(id, toRpcError(thrown, onError), 500));
      await sendWebResponse(exchange, flight, answer, onError);
    } finally {
      flights.leave(flight);
    }
  }

  /** Tells subscribers that the list of tools is another one now. */
  toolsChanged(): void {
    this.#bus.publish({ kind: 'tools_list_changed' });
  }

  close(): Promise<void> {
    return this.#subscriptions.close();
  }

  async #answer(visit: Visit): Promise<Response> {
    const { message, request, exchange } = visit;
    const { headers } = exchange.request;
    if (Array.isArray(message)) return errorResponse(null, malformed(message), 400);
    const route = classifyInboundRequest({ httpMethod: 'POST', ...standardHeaders(request), body: message });
    if (route.kind === 'reject') {
      if (route.code !== INVALID_REQUEST) return this.#modern.fetch(request, { parsedBody: message });
      const error = malformed(message);
      const inBand = error.code === INVALID_PARAMS && headers['mcp-protocol-version'] !== MODERN_VERSION;
      return errorResponse(answerableId(message), error, inBand ? 200 : 400);
    }
    if (route.kind === 'legacy') return this.#answerLegacy(visit);
    if (route.messageKind === 'notification' || route.message.method !== 'subscriptions/listen') {
      return this.#modern.fetch(request, { parsedBody: message });
    }
    if (acceptsEvents(headers.accept)) return this.#subscriptions.fetch(request, { parsedBody: message });
    const error = new RpcError(INVALID_REQUEST, 'A subscription is a stream; send Accept: text/event-stream.');
    return errorResponse(route.message.id, error, 400);
  }

  async #answerLegacy(visit: Visit): Promise<Response> {
    const { message, request, exchange, flight } = visit;
    if (isMalformedInitialize(message)) {
      const error = new RpcError(INVALID_PARAMS, 'Invalid params: protocolVersion, capabilities and clientInfo.');
      return errorResponse(answerableId(message), error, 200);
    }
    if (wantsProgress(message) && acceptsEvents(exchange.request.headers.accept)) {
      return legacyStatelessFallback(() => this.#createServer(visit, 'legacy'))(request, { parsedBody: message });
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      enableJsonResponse: true,
    });
    const server = this.#createServer(visit, 'legacy');
    await server.connect(transport);
    try {
      // The transport wants both types accepted and answers an aborted request never.
      request.headers.set('accept', 'application/json, text/event-stream');
      const answered = transport.handleRequest(request, { parsedBody: message });
      const answer = await Promise.race([answered, aborted(flight.signal)]);
      if (answer.status === 202) this.#noteCancellation(exchange, message);
      return answer;
    } finally {
      await server.close();
    }
  }

  /** In the 2025 and 2024 revisions a client cancels by a notification; in 2026-07-28 it closes the request. */
  #noteCancellation({ principal }: Exchange, message: unknown): void {
    if (!isObject(message) || message.method !== 'notifications/cancelled' || !isObject(message.params)) return;
    const { requestId } = message.params;
    if (isRequestId(requestId)) this.#parts.flights.cancel(principal, requestId);
  }

  #createHandler(): McpHttpHandler {
    return createMcpHandler(({ requestInfo }) => this.#createServer(this.#visitOf(requestInfo), 'modern'), {
      legacy: 'reject',
      bus: this.#bus,
      onerror: (error) => {
        if (!isRefusal(error)) this.#parts.onError(error);
      },
    });
  }

  #visitOf(request: Request | undefined): Visit {
    const visit = request && this.#visits.get(request);
    if (!visit) throw new Error('The SDK served a request that it was not given.');
    return visit;
  }

  #createServer(visit: Visit, era: Era): Server {
    const { name, version } = this.#parts.registry.server;
    const server = new Server(
      { name, version },
      {
        capabilities: { tools: { listChanged: era === 'modern' } },
        supportedProtocolVersions: [...PROTOCOL_VERSIONS],
        jsonSchemaValidator: this.#validator,
      },
    );
    // Set for our methods only, so that the SDK refuses the others before it begins to answer, with the status of the revision.
    if (isObject(visit.message) && isToolMethod(visit.message.method)) {
      server.fallbackRequestHandler = (request, context) => this.#answerToolMethod(visit, request, context);
    }
    return server;
  }

  async #answerToolMethod(visit: Visit, { method, params }: JSONRPCRequest, context: ServerContext): Promise<Result> {
    const { registry, lists, onError } = this.#parts;
    const { exchange, flight } = visit;
    try {
      if (method === 'tools/list') return { ...lists.page(exchange, params?.cursor) };
      const onProgress = progressReporter(exchange, context);
      const hooks = { signal: flight.signal, onProgress };
      return toolResult(await callTool(registry, exchange, readCallParams(params), hooks));
    } catch (thrown) {
      throw toRpcError(thrown, onError);
    }
  }
}

function isToolMethod(method: unknown): boolean {
  return method === 'tools/list' || method === 'tools/call';
}

function isMalformedInitialize(message: unknown): boolean {
  return isObject(message) && message.method === 'initialize' && !isSpecType.InitializeRequest(message);
}

function wantsProgress(message: unknown): boolean {
  if (!isObject(message) || message.method !== 'tools/call' || !isObject(message.params)) return false;
  const { _meta } = message.params;
  return isObject(_meta) && _meta.progressToken !== undefined;
}

/** Undefined where the client did not ask for progress, or takes no stream in which it could be told. */
function progressReporter({ request }: Exchange, { mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined || !acceptsEvents(request.headers.accept)) return undefined;
  return (progress: Progress) => {
    const told = mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } });
    told.catch(() => {}); // the client went away, which ends the call by its signal
  };
}

/** Whether the error tells of a fault of the client's, which was answered, and not of one of ours. */
function isRefusal(error: Error): boolean {
  return error instanceof ProtocolError || error.message.startsWith('Rejected ');
}

/** The request as the SDK takes it. It has no body: the parsed message goes beside it. */
function webRequest({ request, url }: Exchange, { signal }: Flight): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string') headers.set(name, value);
  }
  return new Request(url, { method: 'POST', headers, signal });
}

function standardHeaders({ headers }: Request) {
  const [version, method, name] = ['mcp-protocol-version', 'mcp-method', 'mcp-name'].map((each) => headers.get(each));
  return {
    ...(version != null && { protocolVersionHeader: version }),
    ...(method != null && { mcpMethodHeader: method }),
    ...(name != null && { mcpNameHeader: name }),
  };
}

/** A request its client gave up gets no answer, only an end. */
function aborted(signal: AbortSignal): Promise<Response> {
  return new Promise((resolve) => {
    const end = () => resolve(new Response(null, { status: 202 }));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

function errorResponse(id: RequestId | null, error: RpcError, status: number): Response {
  return new Response(rpcErrorJson(id, error), { status, headers: { 'Content-Type': 'application/json' } });
}
