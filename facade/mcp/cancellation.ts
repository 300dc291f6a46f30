import type { Cluster } from '../../store/cluster-port.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { RequestId } from './message.ts';
import { sendNothing } from './response-writer.ts';

/** Requests that can be cancelled: `notifications/cancelled` comes in a request of its own and finds them here. */
export class CancellableRequests {
  readonly #byKey = new Map<string, RequestContext[]>();
  readonly #cluster: Cluster | undefined;

  /** `cluster`: the other processes, where a request may be answered while its cancellation comes here. */
  constructor(cluster: Cluster | undefined) {
    this.#cluster = cluster;
    cluster?.onTold(CANCELLED, (key) => this.#cancel(String(key)));
  }

  enter(context: RequestContext, id: RequestId): void {
    const key = keyOf(context.principal, id);
    const others = this.#byKey.get(key);
    if (others) others.push(context);
    else this.#byKey.set(key, [context]);
  }

  leave(context: RequestContext, id: RequestId): void {
    const key = keyOf(context.principal, id);
    const others = (this.#byKey.get(key) ?? []).filter((other) => other !== context);
    if (others.length > 0) this.#byKey.set(key, others);
    else this.#byKey.delete(key);
  }

  /** Clients that share a key may use the same ids. Where more than one request has the id, none is cancelled. */
  cancel(principal: Principal, id: RequestId): void {
    const key = keyOf(principal, id);
    if (this.#byKey.has(key)) this.#cancel(key);
    else this.#cluster?.tell(CANCELLED, key);
  }

  /** A cancelled request gets no answer; it only ends. */
  #cancel(key: string): void {
    const [context, ...others] = this.#byKey.get(key) ?? [];
    if (!context || others.length > 0) return;
    context.abort();
    if (!context.response.headersSent) sendNothing(context.response, 202);
  }
}

const CANCELLED = 'cancelled request';

function keyOf({ type, id: who }: Principal, id: RequestId): string {
  return `${type} ${who} ${typeof id} ${id}`;
}
