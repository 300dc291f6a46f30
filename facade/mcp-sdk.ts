import {
  classifyInboundRequest,
  createMcpHandler,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  InMemoryServerEventBus,
  type McpHttpHandler,
  ProtocolError,
  preloadSchemas,
} from '@modelcontextprotocol/server';
import type { Exchange } from './exchange.ts';
import type { DoorParts } from './mcp-calls.ts';
import { answerableId, malformed, type RequestId, RpcError, toRpcError } from './mcp-message.ts';
import { answerLegacy } from './mcp-sdk-legacy.ts';
import { createSdkServer, type Visit } from './mcp-sdk-server.ts';
import { MODERN_VERSION } from './mcp-versions.ts';
import { acceptsEvents, errorResponse, sendWebResponse, standardHeaders, webRequest } from './mcp-web.ts';

/** Subscriptions that one caller may hold open. */
const MOST_SUBSCRIPTIONS = 20;

/** Serves every message of every revision through the official SDK, one low-level server per message. */
export class SdkPath {
  readonly #parts: DoorParts;
  /** The SDK asks for a server with no more than the request in hand. */
  readonly #visits = new WeakMap<Request, Visit>();
  readonly #bus: InMemoryServerEventBus;
  readonly #modern: McpHttpHandler;
  /** Apart from the calls, so that closing ends the subscriptions and lets the calls finish. */
  readonly #subscriptions: McpHttpHandler;
  /** How many subscriptions each caller has open. */
  readonly #open = new Map<string, number>();

  constructor(parts: DoorParts) {
    preloadSchemas();
    this.#parts = parts;
    this.#bus = new InMemoryServerEventBus(parts.onError);
    this.#modern = this.#createHandler();
    this.#subscriptions = this.#createHandler();
  }

  async serve(exchange: Exchange, message: unknown): Promise<void> {
    const { flights, onError } = this.#parts;
    const id = answerableId(message);
    const flight = flights.enter(exchange, isModern(exchange) ? null : id);
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
    if (Array.isArray(message)) return errorResponse(null, malformed(message), 400);
    const route = classifyInboundRequest({ httpMethod: 'POST', ...standardHeaders(request), body: message });
    if (route.kind === 'legacy') return answerLegacy(this.#parts, visit);
    if (route.kind === 'reject' && route.code === INVALID_REQUEST) {
      const error = malformed(message);
      const inBand = error.code === INVALID_PARAMS && !isModern(exchange);
      return errorResponse(answerableId(message), error, inBand ? 200 : 400);
    }
    if (route.kind === 'modern' && route.messageKind === 'request' && route.message.method === 'subscriptions/listen') {
      return this.#subscribe(visit, route.message.id);
    }
    return this.#modern.fetch(request, { parsedBody: message });
  }

  #subscribe({ exchange, request, message }: Visit, id: RequestId): Response | Promise<Response> {
    if (!acceptsEvents(exchange)) {
      const error = new RpcError(INVALID_REQUEST, 'A subscription is a stream; send Accept: text/event-stream.');
      return errorResponse(id, error, 400);
    }
    const caller = `${exchange.principal.type} ${exchange.principal.id}`;
    const open = this.#open.get(caller) ?? 0;
    if (open >= MOST_SUBSCRIPTIONS) {
      const message = `You have ${MOST_SUBSCRIPTIONS} subscriptions open; close one first.`;
      return errorResponse(id, new RpcError(INTERNAL_ERROR, message), 200);
    }
    this.#open.set(caller, open + 1);
    exchange.response.once('close', () => {
      const left = (this.#open.get(caller) ?? 1) - 1;
      if (left > 0) this.#open.set(caller, left);
      else this.#open.delete(caller);
    });
    return this.#subscriptions.fetch(request, { parsedBody: message });
  }

  #createHandler(): McpHttpHandler {
    const serverFor = (request: Request | undefined) => {
      const visit = request && this.#visits.get(request);
      if (!visit) throw new Error('The SDK served a request that it was not given.');
      return createSdkServer(this.#parts, visit, 'modern');
    };
    return createMcpHandler(({ requestInfo }) => serverFor(requestInfo), {
      legacy: 'reject',
      bus: this.#bus,
      onerror: (error) => {
        if (!isRefusal(error)) this.#parts.onError(error);
      },
    });
  }
}

function isModern({ request }: Exchange): boolean {
  return request.headers['mcp-protocol-version'] === MODERN_VERSION;
}

/** Whether the error tells of a fault of the client's, which was answered, and not of one of ours. */
function isRefusal(error: Error): boolean {
  return error instanceof ProtocolError || error.message.startsWith('Rejected ');
}
