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
import type { Exchange } from '../http/exchange.ts';
import { type DoorParts, rpcErrorFor } from './calls.ts';
import { answerableId, argumentsIn, malformed } from './message.ts';
import { isModern } from './protocol-versions.ts';
import type { UpdateParts } from './resource-updates.ts';
import { answerLegacy } from './sdk-legacy.ts';
import { createSdkServer, type SdkVisit } from './sdk-server.ts';
import { Subscriptions } from './subscriptions.ts';
import { errorResponse, sendWebResponse, standardHeaders, webRequest } from './web.ts';

/** Serves every message of every revision with the official SDK. Each message has a low-level server of its own. */
export class SdkPath {
  readonly #parts: DoorParts;
  /** The SDK asks for a server with only the request at hand, so the visit is found by the request. */
  readonly #visits = new WeakMap<Request, SdkVisit>();
  readonly #modern: McpHttpHandler;
  /** Held apart from the calls, so that closing ends the subscriptions and lets the calls finish. */
  readonly #subscriptions: Subscriptions;

  constructor(parts: DoorParts & UpdateParts) {
    preloadSchemas();
    this.#parts = parts;
    this.#modern = this.#createHandler();
    this.#subscriptions = new Subscriptions(parts, (bus) => this.#createHandler(bus));
  }

  async serve(exchange: Exchange, message: unknown): Promise<void> {
    const { flights } = this.#parts;
    const id = answerableId(message);
    const flight = flights.enter(exchange, isModern(exchange) ? null : id);
    const given = argumentsIn(message);
    const visit = {
      exchange,
      flight,
      message: given ? withoutArguments(message) : message,
      given,
      request: webRequest(exchange, flight),
    };
    this.#visits.set(visit.request, visit);
    try {
      const answer = await this.#answer(visit).catch((thrown) =>
        errorResponse(id, rpcErrorFor(exchange, thrown, this.#parts), 500),
      );
      if (answer.status >= 400) exchange.failure ??= String(answer.status);
      await sendWebResponse(exchange, flight, answer, (cause) => this.#parts.onError(cause, exchange));
    } finally {
      flights.leave(flight);
    }
  }

  toolsChanged(): void {
    this.#subscriptions.lookAgain();
  }

  close(): Promise<void> {
    return this.#subscriptions.close();
  }

  async #answer(visit: SdkVisit): Promise<Response> {
    const { message, request, exchange } = visit;
    if (Array.isArray(message)) return errorResponse(null, malformed(message), 400);
    const route = classifyInboundRequest({ httpMethod: 'POST', ...standardHeaders(request), body: message });
    if (route.kind === 'legacy') return answerLegacy(this.#parts, visit);
    if (route.kind === 'reject' && route.code === INVALID_REQUEST) {
      const error = malformed(message);
      const inBand = error.code === INVALID_PARAMS && !isModern(exchange);
      return errorResponse(answerableId(message), error, inBand ? 200 : 400);
    }
    if (route.kind === 'modern' && route.messageKind === 'request' && route.message.method === 'subscriptions/listen') {
      return this.#subscriptions.serve(visit, route.message.id);
    }
    return this.#modern.fetch(request, { parsedBody: message });
  }

  #createHandler(bus?: ServerEventBus): McpHttpHandler {
    const serverFor = (request: Request | undefined) => {
      const visit = request && this.#visits.get(request);
      if (!visit) throw new Error('The SDK served a request that it was not given.');
      return createSdkServer(this.#parts, visit, 'modern');
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
  const { params, ...others } = message as { readonly params: object }; // it has arguments
  return { ...others, params: { ...params, arguments: {} } };
}

/** Whether the error is the client's fault and was answered, instead of a fault of the server. */
function isRefusal(error: Error): boolean {
  return error instanceof ProtocolError || error.message.startsWith('Rejected ');
}
