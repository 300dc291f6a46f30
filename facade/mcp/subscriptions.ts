import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  InMemoryServerEventBus,
  type McpHttpHandler,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { checkNow } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { rightsFingerprint } from '../../tools/core/access/reach.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { RequestContext } from '../http/request-context.ts';
import { isObject, type RequestId, RpcError } from './message.ts';
import { canonicalUri, ResourceUpdates, type ResourceUpdatesDeps } from './resource-updates.ts';
import type { SdkRequest } from './sdk-server.ts';
import { acceptsEvents, errorResponse } from './web.ts';

/** How many subscriptions a caller may have open, and how many resources one of them may follow. */
export const MOST_OPEN = 100;
export const MOST_URIS = 1000;

interface Subscription {
  readonly caller: string;
  readonly handler: McpHttpHandler;
  /** Notifies the subscriber if the list differs from the one in its last notification. */
  compare(principal: Principal): void;
  readonly context: RequestContext;
}

/** The open `subscriptions/listen` streams. Each has a bus of its own, so a subscriber hears only of changes of its own list. */
export class Subscriptions {
  readonly #registry: Registry;
  readonly #createHandler: (bus: ServerEventBus) => McpHttpHandler;
  readonly #onError: (cause: unknown) => void;
  readonly #open = new Set<Subscription>();
  readonly #updates: ResourceUpdates;

  constructor(parts: ResourceUpdatesDeps, createHandler: (bus: ServerEventBus) => McpHttpHandler) {
    this.#registry = parts.registry;
    this.#onError = parts.onError;
    this.#createHandler = createHandler;
    this.#updates = new ResourceUpdates(parts);
    parts.store.cluster?.onGap(() => this.#endAll());
  }

  serve({ context, request }: SdkRequest, id: RequestId): Response | Promise<Response> {
    if (!acceptsEvents(context)) {
      const error = new RpcError(INVALID_REQUEST, 'A subscription is a stream; send Accept: text/event-stream.');
      return errorResponse(id, error, 400);
    }
    const caller = `${context.principal.type} ${context.principal.id}`;
    if ([...this.#open].filter((other) => other.caller === caller).length >= MOST_OPEN) {
      const message = `You have ${MOST_OPEN} subscriptions open; close one first.`;
      return errorResponse(id, new RpcError(INTERNAL_ERROR, message), 200);
    }
    const { message, uris } = withKnownUris(context.message);
    if (uris.size > MOST_URIS) {
      const error = new RpcError(
        INVALID_PARAMS,
        `Invalid params: a subscription follows at most ${MOST_URIS} resources.`,
      );
      return errorResponse(id, error, 200);
    }
    const bus = new InMemoryServerEventBus(this.#onError);
    const compare = this.#comparer(context.principal, bus);
    const subscription = { caller, handler: this.#createHandler(bus), compare, context };
    this.#open.add(subscription);
    const unfollow = this.#updates.follow(context, uris, (uri) => bus.publish({ kind: 'resource_updated', uri }));
    context.response.once('close', () => {
      this.#open.delete(subscription);
      unfollow();
    });
    context.onRenewed = compare;
    return subscription.handler.fetch(request, { parsedBody: message });
  }

  /** Checks now whose list has changed. Without it, that is found when the credential is checked again. */
  lookAgain(): void {
    for (const { context, compare } of this.#open) {
      void checkNow(() => context.checkCredential(), { onGone: () => context.abort(), onRenewed: compare });
    }
  }

  async close(): Promise<void> {
    this.#updates.close();
    await Promise.all([...this.#open].map(({ handler }) => handler.close()));
  }

  /** Changes may have been missed, which clients find out by subscribing anew. */
  #endAll(): void {
    for (const { handler } of this.#open) void handler.close().catch(this.#onError);
  }

  #comparer(principal: Principal, bus: ServerEventBus): Subscription['compare'] {
    let [list, reach] = [this.#registry.list(principal), rightsFingerprint(principal)];
    return (renewed) => {
      const [before, reachBefore] = [list, reach];
      [list, reach] = [this.#registry.list(renewed), rightsFingerprint(renewed)];
      const same = list.length === before.length && list.every((entry, index) => entry === before[index]);
      // With another reach, the same tools may have other fixed arguments.
      if (!same || reach !== reachBefore) bus.publish({ kind: 'tools_list_changed' });
    };
  }
}

/** The message without URIs that no resource can have, each resource once. `uris`: those that are followed, by canonical form. */
function withKnownUris(message: unknown): { readonly message: unknown; readonly uris: ReadonlyMap<string, string> } {
  const { params } = isObject(message) ? message : {};
  const { notifications } = isObject(params) ? params : {};
  const given: unknown = isObject(notifications) ? notifications.resourceSubscriptions : undefined;
  if (!Array.isArray(given) || !given.every((uri) => typeof uri === 'string')) return { message, uris: new Map() };
  const uris = new Map<string, string>();
  for (const uri of given) {
    const canonical = canonicalUri(uri);
    if (canonical !== undefined && !uris.has(canonical)) uris.set(canonical, uri);
  }
  const narrowed = { ...(notifications as object), resourceSubscriptions: [...uris.values()] };
  return { message: { ...(message as object), params: { ...(params as object), notifications: narrowed } }, uris };
}
