import type { ServerResponse } from 'node:http';
import { INVALID_PARAMS } from '@modelcontextprotocol/server';
import type { Principal } from '../tools/access/principal.ts';
import type { Answer, Call, Registry } from '../tools/registry.ts';
import type { Exchange } from './exchange.ts';
import { isObject, type RequestId, RpcError } from './mcp-message.ts';
import { sendNothing } from './mcp-wire.ts';

/** The params of `tools/call`, found to be well-formed. */
export interface CallParams {
  readonly name: string;
  readonly arguments: object;
  readonly idempotencyKey?: string | undefined;
}

/** @throws RpcError */
export function readCallParams(params: unknown): CallParams {
  const { name, arguments: given = {}, _meta } = isObject(params) ? params : {};
  if (typeof name !== 'string') throw new RpcError(INVALID_PARAMS, 'Invalid params: name is the name of a tool.');
  if (!isObject(given)) throw new RpcError(INVALID_PARAMS, 'Invalid params: arguments is an object or absent.');
  const key = isObject(_meta) ? _meta.idempotencyKey : undefined;
  if (key !== undefined && typeof key !== 'string') {
    throw new RpcError(INVALID_PARAMS, 'Invalid params: _meta.idempotencyKey is a string or absent.');
  }
  return { name, arguments: given, idempotencyKey: key };
}

/** Calls the tool for the principal of the exchange. @throws RpcError for an unknown tool */
export async function callTool(
  registry: Registry,
  exchange: Exchange,
  { name, arguments: input, idempotencyKey }: CallParams,
  { signal, onProgress }: Pick<Call, 'signal' | 'onProgress'>,
): Promise<Answer> {
  const { principal, door, requestId, response } = exchange;
  const idempotency =
    idempotencyKey === undefined ? undefined : { key: idempotencyKey, operation: `tools/call ${name}` };
  const call = { principal, tool: name, input, door, requestId, idempotency, signal, onProgress };
  const answer = await registry.call(call);
  // The call of an unknown tool is made all the same, for its audit entry and its hint.
  if (!answer.ok && !registry.find(name)) throw new RpcError(INVALID_PARAMS, answer.error.error);
  if (answer.replayed && !response.headersSent) response.setHeader('Idempotency-Replayed', 'true');
  return answer;
}

/** One message under way. Its signal aborts when the client goes away or cancels it. */
export class Flight {
  /** Undefined for a notification, which nothing can cancel. */
  readonly key: string | undefined;
  readonly #response: ServerResponse;
  readonly #controller = new AbortController();

  constructor(key: string | undefined, response: ServerResponse) {
    this.key = key;
    this.#response = response;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  /** A cancelled request gets no answer, only an end. */
  cancel(): void {
    this.#controller.abort();
    if (!this.#response.headersSent) sendNothing(this.#response, 202);
  }
}

/** Requests under way, so that a `notifications/cancelled`, which comes in a request of its own, finds the one it means. */
export class Flights {
  readonly #byKey = new Map<string, Flight | Flight[]>();

  enter({ principal, response }: Exchange, id: RequestId | null): Flight {
    const flight = new Flight(id === null ? undefined : keyOf(principal, id), response);
    if (flight.key !== undefined) {
      const others = this.#byKey.get(flight.key);
      this.#byKey.set(flight.key, others === undefined ? flight : [others, flight].flat());
    }
    response.once('close', () => {
      if (!response.writableFinished) flight.abort();
    });
    return flight;
  }

  leave(flight: Flight): void {
    if (flight.key === undefined) return;
    const found = this.#byKey.get(flight.key);
    if (Array.isArray(found)) {
      const left = found.filter((other) => other !== flight);
      if (left.length > 0) this.#byKey.set(flight.key, left);
      else this.#byKey.delete(flight.key);
    } else this.#byKey.delete(flight.key);
  }

  /** Several clients can share one key and count their ids alike; where more than one is meant, none is cancelled. */
  cancel(principal: Principal, id: RequestId): void {
    const found = this.#byKey.get(keyOf(principal, id));
    const flight = Array.isArray(found) && found.length === 1 ? found[0] : found;
    if (flight instanceof Flight) flight.cancel();
  }
}

function keyOf({ type, id: who }: Principal, id: RequestId): string {
  return `${type} ${who} ${typeof id} ${id}`;
}
