import {
  classifyInboundRequest,
  createMcpHandler,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isSpecType,
  legacyStatelessFallback,
  type McpHttpHandler,
  ProtocolError,
  preloadSchemas,
  type ServerEventBus,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { RequestContext } from '../http/request-context.ts';
import { type McpDeps, rpcErrorFor } from './calls.ts';
import type { CancellableRequests } from './cancellation.ts';
import { mayLog } from './logging.ts';
import { answerableId, argumentsIn, isObject, isRequestId, malformed, RpcError } from './message.ts';
import { isModern } from './protocol-versions.ts';
import type { ResourceUpdatesDeps } from './resource-updates.ts';
import { createSdkServer, type SdkRequest } from './sdk-server.ts';
import { Subscriptions } from './subscriptions.ts';
import { acceptsEvents, errorResponse, sendWebResponse, standardHeaders, webRequest } from './web.ts';

/** Serves every message of every revision with the official SDK. Each message has a low-level server of its own. */
export class SdkPath {
  readonly #deps: McpDeps;
  /** The SDK asks for a server with only its request at hand, so the context is found by that. */
  readonly #contexts = new WeakMap<Request, RequestContext>();
  readonly #modern: McpHttpHandler;
  /** Held apart from the calls, so that closing ends the subscriptions and lets the calls finish. */
  readonly #subscriptions: Subscriptions;

  constructor(deps: McpDeps & ResourceUpdatesDeps) {
    preloadSchemas();
    this.#deps = deps;
    this.#modern = this.#createHandler();
    this.#subscriptions = new Subscriptions(deps, (bus) => this.#createHandler(bus));
  }

  async serve(context: RequestContext, message: unknown): Promise<void> {
    const { cancellable } = this.#deps;
    const id = answerableId(message);
    const key = isModern(context) ? null : id;
    const sdkRequest = { context, request: webRequest(context), message: withoutArguments(message) };
    this.#contexts.set(sdkRequest.request, context);
    if (key !== null) cancellable.enter(context, key);
    try {
      const answer = await this.#answer(sdkRequest).catch((thrown) =>
        errorResponse(id, rpcErrorFor(context, thrown, this.#deps), 500),
      );
      if (answer.status >= 400) context.failure ??= String(answer.status);
      await sendWebResponse(context, answer, (cause) => this.#deps.onError(cause, context));
    } finally {
      if (key !== null) cancellable.leave(context, key);
    }
  }

  toolsChanged(): void {
    this.#subscriptions.lookAgain();
  }

  close(): Promise<void> {
    return this.#subscriptions.close();
  }

  async #answer(sdkRequest: SdkRequest): Promise<Response> {
    const { message, request, context } = sdkRequest;
    if (Array.isArray(message)) return errorResponse(null, malformed(message), 400);
    const route = classifyInboundRequest({ httpMethod: 'POST', ...standardHeaders(request), body: message });
    if (route.kind === 'legacy') return answerLegacy(this.#deps, sdkRequest);
    if (route.kind === 'reject' && route.code === INVALID_REQUEST) {
      const error = malformed(message);
      const inBand = error.code === INVALID_PARAMS && !isModern(context);
      return errorResponse(answerableId(message), error, inBand ? 200 : 400);
    }
    if (route.kind === 'modern' && route.messageKind === 'request' && route.message.method === 'subscriptions/listen') {
      return this.#subscriptions.serve(sdkRequest, route.message.id);
    }
    return this.#modern.fetch(request, { parsedBody: message });
  }

  #createHandler(bus?: ServerEventBus): McpHttpHandler {
    const serverFor = (request: Request | undefined) => {
      const context = request && this.#contexts.get(request);
      if (!context) throw new Error('The SDK served a request that it was not given.');
      return createSdkServer(this.#deps, context, 'modern');
    };
    return createMcpHandler(({ requestInfo }) => serverFor(requestInfo), {
      legacy: 'reject',
      ...(bus && { bus }),
      onerror: (error) => {
        if (!isRefusal(error)) this.#deps.onError(error);
      },
    });
  }
}

/** The SDK copies every value of a message several times, and does not need the input of the tool. */
function withoutArguments(message: unknown): unknown {
  if (!argumentsIn(message)) return message;
  const { params, ...others } = message as { readonly params: object }; // it has arguments
  return { ...others, params: { ...params, arguments: {} } };
}

/** Whether the error is the client's fault and was answered, instead of a fault of the server. */
function isRefusal(error: Error): boolean {
  return error instanceof ProtocolError || error.message.startsWith('Rejected ');
}

/** Answers with JSON, or with a stream where the client wants to hear of progress. */
async function answerLegacy(parts: McpDeps, sdkRequest: SdkRequest): Promise<Response> {
  const { message, request, context } = sdkRequest;
  if (isMalformedInitialize(message)) {
    const error = new RpcError(
      INVALID_PARAMS,
      'Invalid params: initialize has protocolVersion, capabilities and clientInfo.',
    );
    return errorResponse(answerableId(message), error, 200);
  }
  if (acceptsEvents(context) && wantsStream(parts, context)) {
    const serveStream = legacyStatelessFallback(() => createSdkServer(parts, context, 'legacy'), parts.onError);
    return serveStream(request, { parsedBody: message });
  }
  const answer = await answerInJson(parts, sdkRequest);
  if (answer.status === 202) noteCancellation(parts.cancellable, context);
  return answer;
}

async function answerInJson(parts: McpDeps, { message, request, context }: SdkRequest): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  const server = createSdkServer(parts, context, 'legacy');
  await server.connect(transport);
  try {
    return await Promise.race([transport.handleRequest(request, { parsedBody: message }), aborted(context.signal)]);
  } finally {
    await server.close();
  }
}

/** Needed because the SDK's transport never answers a request that is aborted. */
function aborted(signal: AbortSignal): Promise<Response> {
  return new Promise((resolve) => {
    const end = () => resolve(new Response(null, { status: 202 }));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** In these revisions a client cancels by a notification. In 2026-07-28 it closes the request. */
function noteCancellation(cancellable: CancellableRequests, { principal, message }: RequestContext): void {
  if (!isObject(message) || message.method !== 'notifications/cancelled' || !isObject(message.params)) return;
  const { requestId } = message.params;
  if (isRequestId(requestId)) cancellable.cancel(principal, requestId);
}

function isMalformedInitialize(message: unknown): boolean {
  return isObject(message) && message.method === 'initialize' && !isSpecType.InitializeRequest(message);
}

/** Whether the client wants to hear of the call's progress or its log messages. */
function wantsStream({ levels, registry }: McpDeps, context: RequestContext): boolean {
  const { message } = context;
  if (!isObject(message) || message.method !== 'tools/call' || !isObject(message.params)) return false;
  const { _meta, name } = message.params;
  if (isObject(_meta) && _meta.progressToken !== undefined) return true;
  return levels.of(context) !== undefined && mayLog(registry, name);
}
