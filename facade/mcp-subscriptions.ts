import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  InMemoryServerEventBus,
  type McpHttpHandler,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import type { Principal } from '../tools/access/principal.ts';
import { reachOf } from '../tools/access/reach.ts';
import type { Registry } from '../tools/registry.ts';
import { lookAgain } from './credential-watch.ts';
import { type RequestId, RpcError } from './mcp-message.ts';
import type { Visit } from './mcp-sdk-server.ts';
import { acceptsEvents, errorResponse } from './mcp-web.ts';

/** Subscriptions that one caller may hold open. */
const MOST_OPEN = 20;

interface Subscription {
  readonly caller: string;
  readonly handler: McpHttpHandler;
  /** Tells the subscriber if the list it would get is another one than when it last was told. */
  compare(principal: Principal): void;
  readonly visit: Visit;
}

/** The open `subscriptions/listen` streams. Each has a bus of its own: its subscriber hears of changes of its own list alone. */
export class Subscriptions {
  readonly #registry: Registry;
  readonly #createHandler: (bus: ServerEventBus) => McpHttpHandler;
  readonly #onError: (cause: unknown) => void;
  readonly #open = new Set<Subscription>();

  constructor(
    { registry, onError }: { readonly registry: Registry; onError(cause: unknown): void },
    createHandler: (bus: ServerEventBus) => McpHttpHandler,
  ) {
    this.#registry = registry;
    this.#onError = onError;
    this.#createHandler = createHandler;
  }

  serve(visit: Visit, id: RequestId): Response | Promise<Response> {
    const { exchange, flight, request, message } = visit;
    if (!acceptsEvents(exchange)) {
      const error = new RpcError(INVALID_REQUEST, 'A subscription is a stream; send Accept: text/event-stream.');
      return errorResponse(id, error, 400);
    }
    const caller = `${exchange.principal.type} ${exchange.principal.id}`;
    if ([...this.#open].filter((other) => other.caller === caller).length >= MOST_OPEN) {
      const message = `You have ${MOST_OPEN} subscriptions open; close one first.`;
      return errorResponse(id, new RpcError(INTERNAL_ERROR, message), 200);
    }
    const bus = new InMemoryServerEventBus(this.#onError);
    const compare = this.#comparer(exchange.principal, bus);
    const subscription = { caller, handler: this.#createHandler(bus), compare, visit };
    this.#open.add(subscription);
    exchange.response.once('close', () => this.#open.delete(subscription));
    flight.onRenewed = compare;
    return subscription.handler.fetch(request, { parsedBody: message });
  }

  /** Looks at once for whom the list changed; without it that is seen when the credential is looked at again. */
  lookAgain(): void {
    for (const { visit, compare } of this.#open) {
      void lookAgain(visit.exchange, this.#onError, () => visit.flight.abort(), compare);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map(({ handler }) => handler.close()));
  }

  #comparer(principal: Principal, bus: ServerEventBus): Subscription['compare'] {
    let [list, reach] = [this.#registry.list(principal), reachOf(principal)];
    return (renewed) => {
      const [before, reachBefore] = [list, reach];
      [list, reach] = [this.#registry.list(renewed), reachOf(renewed)];
      const same = list.length === before.length && list.every((entry, index) => entry === before[index]);
      // The same tools under another reach can have other fixed arguments.
      if (!same || reach !== reachBefore) bus.publish({ kind: 'tools_list_changed' });
    };
  }
}
