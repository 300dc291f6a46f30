import {
  classifyInboundRequest,
  createMcpHandler,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type McpHttpHandler,
  ProtocolError,
  preloadSchemas,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import type { RequestContext } from '../http/request-context.ts';
import { type McpDeps, rpcErrorFor } from './calls.ts';
import { answerableId, argumentsIn, malformed } from './message.ts';
import { isModern } from './protocol-versions.ts';
import type { ResourceUpdatesDeps } from './resource-updates.ts';
import { answerLegacy } from './sdk-legacy.ts';
import { createSdkServer, type SdkRequest } from './sdk-server.ts';
import { Subscriptions } from './subscriptions.ts';
import { errorResponse, sendWebResponse, standardHeaders, webRequest } from './web.ts';

/** Serves every message of every revision with the official SDK. Each message has a low-level server of its own. */
export class SdkPath {
  readonly #parts: McpDeps;
  /** The SDK asks for a server with only its request at hand, so the context is found by that. */
  readonly #contexts = new WeakMap<Request, RequestContext>();
  readonly #modern: McpHttpHandler;
  /** Held apart from the calls, so that closing ends the subscriptions and lets the calls finish. */
  readonly #subscriptions: Subscriptions;

  constructor(parts: McpDeps & ResourceUpdatesDeps) {
    preloadSchemas();
    this.#parts = parts;
    this.#modern = this.#createHandler();
    this.#subscriptions = new Subscriptions(parts, (bus) => this.#createHandler(bus));
  }

  async serve(context: RequestContext, message: unknown): Promise<void> {
    const { cancellable } = this.#parts;
    const id = answerableId(message);
    const key = isModern(context) ? null : id;
    const sdkRequest = { context, request: webRequest(context), message: withoutArguments(message) };
    this.#contexts.set(sdkRequest.request, context);
    if (key !== null) cancellable.enter(context, key);
    try {
      const answer = await this.#answer(sdkRequest).catch((thrown) =>
        errorResponse(id, rpcErrorFor(context, thrown, this.#parts), 500),
      );
      if (answer.status >= 400) context.failure ??= String(answer.status);
      await sendWebResponse(context, answer, (cause) => this.#parts.onError(cause, context));
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
    if (route.kind === 'legacy') return answerLegacy(this.#parts, sdkRequest);
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
      return createSdkServer(this.#parts, context, 'modern');
    };
    return createMcpHandler(({ requestInfo }) => serverFor(requestInfo), {
      legacy: 'reject',
      ...(bus && { bus }),
      onerror: (error) => {
        if (!isRefusal(error)) this.#parts.onError(error);
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
